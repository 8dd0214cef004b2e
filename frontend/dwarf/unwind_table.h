// The program as unwinders see it: which ranges of code are functions (.eh_frame; System V ABI for x86-64, section
// 4.2.4), and how to find the caller's frame at an instruction.
//
// Even stripped programs have this information. The entries are read once, when first needed, and take 24 bytes each.
// Frames are computed by libdw.
#pragma once

#include <optional>
#include <vector>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class DebugFiles;
class ProgramFile;

// A function, or a part of one.
struct UnwindEntry {
    Address low = 0, high = 0;
    bool handles = false; // has a personality routine: exceptions are caught or cleaned up here
    Address handlers = 0; // the address of the table for that routine; 0: none
};

// The state of the stack at an instruction, for leaving the function there.
enum class StackAt {
    Unknown,  // not described
    AsCalled, // the stack is as at the function's beginning; on x86-64, the return address is on top
    InFrame,  // the function's frame exists
};

class UnwindTable {
  public:
    UnwindTable(const ProgramFile& file, DebugFiles& debug) : file_(file), debug_(debug) {}

    // Returns the entry that covers an address, or null.
    const UnwindEntry* at(Address address);
    // Returns the beginning of the next entry after an address, or nullopt.
    std::optional<Address> next_after(Address address);

    // Returns the landing pads, where unwinders enter the function, from its exception table. Returns nullopt if the
    // table cannot be read.
    std::optional<std::vector<Address>> landing_pads(const UnwindEntry& entry);

    // Returns false if the entry says that the return address is not on top of the stack.
    bool is_entered_by_call(Address entry);
    // Whether one could leave the function at this instruction by a return, judged by the call frame information.
    StackAt stack_at(Address address);
    // Returns nullopt if the frame is not described, or is described by an expression.
    std::optional<FrameRule> frame_rule(Address address);

  private:
    const std::vector<UnwindEntry>& entries(); // sorted by address

    const ProgramFile& file_;
    DebugFiles& debug_;
    std::optional<std::vector<UnwindEntry>> entries_;
};

} // namespace sonde
