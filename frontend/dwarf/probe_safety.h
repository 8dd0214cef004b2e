// Whether the kernel's uprobes execute the instruction at an address correctly, and where else the same is seen.
//
// A class of instructions (types/x86_hazards.h) is safe or not by the kernel, which the session tries out. Some are
// safe by their place: a 5-byte nop that a function begins with may become a call, since nothing of the function's lies
// below the stack pointer yet. Where the instruction changes nothing that a handler can read, and only it leads to the
// next one, a probe at the next one sees the same, as often.
#pragma once

#include <optional>
#include <vector>

#include "base/instruction_hazards.h"
#include "frontend/types/address.h"

namespace sonde {

class CodeLayout;
class ProgramFile;
class SymbolTables;
struct Stretch;
struct X86Instruction;

struct ProbeSafetyAt {
    Hazard hazard = Hazard::None;
    std::optional<Address> instead; // an instruction without a hazard where a handler sees the same, as often
    std::optional<Address> nearest; // the next instruction without a hazard, where something may differ
};

class ProbeSafety {
  public:
    ProbeSafety(const ProgramFile& file, SymbolTables& symbols, CodeLayout& code)
        : file_(file), symbols_(symbols), code_(code) {}

    // Of an address where an instruction begins.
    ProbeSafetyAt look_at(Address address);

  private:
    Hazard hazard_at(Address address, const X86Instruction& instruction);
    bool is_entry(Address address);
    bool is_relocated(Address address, size_t length);
    bool is_reached_otherwise(const Stretch& stretch, Address address);
    void look_beyond(Address address, const X86Instruction& first, ProbeSafetyAt& out);
    const std::vector<Address>& jump_targets();

    const ProgramFile& file_;
    SymbolTables& symbols_;
    CodeLayout& code_;
    std::optional<std::vector<Address>> text_relocations_; // sorted
    std::optional<std::vector<Address>> jump_targets_;     // of direct jumps in all of the code, sorted
};

} // namespace sonde
