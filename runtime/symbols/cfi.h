// Compiles DWARF call frame information (CFI) to sorted rows. A row tells how to find the caller of a function, from
// the row's address up to the next row. Handlers in the kernel search these rows when they unwind a user stack.
//
// Formats: Linux Standard Base Core Specification, section 10.6 ("Exception Frames"); DWARF 5, section 6.4 ("Call Frame
// Information"). Register numbers: Architecture::unwind_traits().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "base/debug/call_frames.h"
#include "runtime/symbols/unwind_rules.h"

namespace sonde {

// The rows of a function, or of one part of a function that the compiler split.
struct CfiFunction {
    uint64_t begin = 0, end = 0; // as linked
    std::vector<UnwindRow> rows;
};

// Returns the functions that a section describes, in the order of the section. `address` is the section's address as
// linked: pointers in .eh_frame are relative to it. Programs of steps go to `rules`.
//
// The bytes may come from any file and are not trusted. The function skips records that it cannot read. A row that no
// rule can express gets SONDE_RULE_UNKNOWN.
std::vector<CfiFunction> read_cfi(std::string_view section, uint64_t address, CfiKind kind, RuleCompiler& rules);

// Adds those functions of `more` that overlap neither a function in `to` nor another one in `more`. `to` must be sorted
// by address and stays sorted.
void add_functions(std::vector<CfiFunction>& to, std::vector<CfiFunction> more);

// Joins the rows of sorted functions into one list. The gaps between functions get SONDE_RULE_NONE.
std::vector<UnwindRow> join_functions(const std::vector<CfiFunction>& functions);

// Compiles the rows of a single section. The returned rows do not carry SONDE_RULE_NARROW; the caller must add the
// flag.
UnwindRules compile_cfi(std::string_view section, uint64_t address, CfiKind kind = CfiKind::EhFrame,
                        const Architecture& architecture = host_architecture());

} // namespace sonde
