// Determines whether the kernel's uprobes execute the instruction at an address correctly, and suggests an equivalent
// place if not.
//
// The instruction's class (arch/instruction_hazards.h) decides, and the session tests at run time which classes the
// kernel handles correctly. Some instructions are safe because of their place. For example, the kernel may replace a
// 5-byte nop by a call, which overwrites memory below the stack pointer; at the beginning of a function this does no
// harm.
//
// A probe can be moved to the next instruction if the handler cannot see a difference. For this, the instruction must
// not change anything that a handler can read. Control must reach the next instruction only from there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/instruction_hazards.h"
#include "frontend/machine/address.h"

namespace sonde {

class CodeLayout;
class ElfFile;
class ProgramFile;
class SymbolTables;
struct Stretch;

// The answer for one address.
struct ProbeSafetyAt {
    Hazard hazard = Hazard::None;
    std::optional<Address> instead; // an instruction without a hazard where a handler sees the same, equally often
    std::optional<Address> nearest; // the next instruction without a hazard; a handler may see something else there
};

// Whether the loader changes the code (text relocations).
bool has_text_relocations(const ElfFile& elf);

class ProbeSafety {
  public:
    ProbeSafety(const ProgramFile& file, SymbolTables& symbols, CodeLayout& code)
        : file_(file), symbols_(symbols), code_(code) {}

    // Examines an address where an instruction begins.
    ProbeSafetyAt look_at(Address address);

  private:
    // `code` begins with the instruction at the address.
    Hazard hazard_at(Address address, std::string_view code, size_t length);
    Hazard hazard_in_context(Address address, std::string_view code);
    bool is_entry(Address address);
    bool is_relocated(Address address, size_t length);
    std::string code_at(Address address) const;
    bool is_reached_otherwise(const Stretch& stretch, Address address);
    void look_beyond(Address address, std::string code, size_t length, ProbeSafetyAt& out);
    const std::vector<Address>& jump_targets();

    const ProgramFile& file_;
    SymbolTables& symbols_;
    CodeLayout& code_;
    std::optional<std::vector<Address>> text_relocations_; // sorted
    std::optional<std::vector<Address>> jump_targets_;     // targets of direct jumps in all code, sorted
};

} // namespace sonde
