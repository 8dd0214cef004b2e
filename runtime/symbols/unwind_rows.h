// All that a file says of how its functions' callers are found: .eh_frame, .debug_frame, Go's own table, and where
// these have nothing, what the first instructions of functions and the stubs of a linkage table show.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/elf_file.h"
#include "runtime/symbols/cfi.h"
#include "runtime/symbols/functions.h"
#include "runtime/symbols/unwind_rules.h"

namespace sonde {

// The rules of a file with those functions; in 32-bit ones with SONDE_RULE_NARROW.
UnwindRules read_unwind_rules(const ElfFile& file, const std::vector<FunctionSymbol>& functions);

// A function without call frame information, with its bytes: its rows, as far as its first instructions tell them.
// Where it begins, its return address is on top of the stack. What follows is left to frame pointers, of which is known
// whether the function has made its own.
std::vector<UnwindRow> rows_of_prologue(uint64_t address, uint64_t size, std::string_view code, bool is_32_bit = false);

// A section of stubs of 16 bytes, which jump to functions of libraries (.plt): what they push before they jump.
std::vector<UnwindRow> rows_of_stubs(uint64_t address, std::string_view code);

} // namespace sonde
