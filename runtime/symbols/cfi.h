// Call frame information, compiled: how a function's caller is found, for every instruction, as sorted rows.
//
// Formats: the Linux Standard Base Core Specification, 10.6 ("Exception Frames"); DWARF 5, 6.4 ("Call Frame
// Information"); System V psABI for x86-64, 3.6.2, and for i386, 2.4.2 (register numbers).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/elf_file.h"
#include "runtime/symbols/functions.h"

namespace sonde {

struct UnwindRow {
    uint64_t address = 0; // as linked
    uint32_t rule = 0;    // symbols/file_table.h
};

// The rows of an .eh_frame section that lies at `section_address`, by address; between functions SONDE_RULE_NONE.
// Whatever the bytes are: what cannot be read is left out, and a rule that cannot be expressed is SONDE_RULE_UNKNOWN.
// `is_32_bit`: of i386 code; the rules are the same ones, and do not say so.
std::vector<UnwindRow> compile_cfi(std::string_view eh_frame, uint64_t section_address, bool is_32_bit = false);

// A function without call frame information, which begins with `code`: its rows, as far as its first instructions tell
// them: where it begins its return address is on top of the stack. What follows is left to frame pointers.
std::vector<UnwindRow> rows_of_prologue(uint64_t address, uint64_t size, std::string_view code, bool is_32_bit = false);

// All rows of a file with those functions, sorted, in 32-bit ones with SONDE_RULE_NARROW; of several for one address
// the last one counts.
std::vector<UnwindRow> read_unwind_rows(const ElfFile& file, const std::vector<FunctionSymbol>& functions);

} // namespace sonde
