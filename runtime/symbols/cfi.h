// Call frame information, compiled: how a function's caller is found, for every instruction, as sorted rows.
//
// Formats: the Linux Standard Base Core Specification, 10.6 ("Exception Frames"); DWARF 5, 6.4 ("Call Frame
// Information"); System V psABI for x86-64, 3.6.2, and for i386, 2.4.2 (register numbers).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/symbols/cfi_reader.h"
#include "runtime/symbols/unwind_rules.h"

namespace sonde {

// The two sections that have it.
enum class CfiKind { EhFrame, DebugFrame };

// A function, or a part of one, with its rows.
struct CfiFunction {
    uint64_t begin = 0, end = 0; // as linked
    std::vector<UnwindRow> rows;
};

// The functions of a section that lies at `address`. Whatever the bytes are: what cannot be read is left out, and a
// rule that cannot be expressed is SONDE_RULE_UNKNOWN.
std::vector<CfiFunction> read_cfi(std::string_view section, uint64_t address, CfiKind kind, const CfiWidth& width,
                                  RuleCompiler& rules);

// Adds those functions that do not overlap others, and sorts them. `to` is sorted, without overlaps.
void add_functions(std::vector<CfiFunction>& to, std::vector<CfiFunction> more);

// Their rows, by address; between functions SONDE_RULE_NONE.
std::vector<UnwindRow> join_functions(const std::vector<CfiFunction>& functions);

// The rules of one section. `is_32_bit`: of i386 code; the rules are the same ones, and do not say so.
UnwindRules compile_cfi(std::string_view section, uint64_t address, CfiKind kind = CfiKind::EhFrame,
                        bool is_32_bit = false);

} // namespace sonde
