// How unwinders see the program: which stretches of code are functions (.eh_frame; System V ABI for x86-64,
// section 4.2.4), and how the caller's frame is found at an instruction.
//
// Even a stripped program has this. The entries are read once, when somebody asks, 24 bytes each; frames are libdw's.
#pragma once

#include <optional>
#include <vector>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class DebugFiles;
class ProgramFile;

// A function or a part of one.
struct UnwindEntry {
    Address low = 0, high = 0;
    bool handles = false; // has a personality routine: exceptions are caught or cleaned up after
    Address handlers = 0; // where that routine's table is; 0: there is none
};

// The stack at an instruction, for who wants to leave the function there.
enum class StackAt {
    Unknown,  // nothing describes it
    AsCalled, // the return address is on top, as when the function began
    InFrame,  // the function's frame is there
};

class UnwindTable {
  public:
    UnwindTable(const ProgramFile& file, DebugFiles& debug) : file_(file), debug_(debug) {}

    // Null: none covers it.
    const UnwindEntry* at(Address address);
    // Where the next entry after an address begins; nullopt: there is none.
    std::optional<Address> next_after(Address address);

    // Where unwinders enter the function, by its table of exceptions; nullopt if that cannot be read.
    std::optional<std::vector<Address>> landing_pads(const UnwindEntry& entry);

    // False where the entry says that the return address is not on top of the stack.
    bool is_entered_by_call(Address entry);
    StackAt stack_at(Address address);
    // nullopt where the frame is not described, or by an expression.
    std::optional<FrameRule> frame_rule(Address address);

  private:
    const std::vector<UnwindEntry>& entries(); // sorted by address

    const ProgramFile& file_;
    DebugFiles& debug_;
    std::optional<std::vector<UnwindEntry>> entries_;
};

} // namespace sonde
