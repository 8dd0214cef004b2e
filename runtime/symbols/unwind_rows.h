// Collects the unwind rules of a file from all its sources: .eh_frame, .debug_frame, Go's function table, PLT stubs,
// and the instructions of functions that no table describes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "runtime/symbols/cfi.h"
#include "runtime/symbols/functions.h"
#include "runtime/symbols/unwind_rules.h"

namespace sonde {

// Returns the rules for all code of a file. `functions` are the file's functions (read_functions). In a 32-bit file
// every rule has SONDE_RULE_NARROW.
UnwindRules read_unwind_rules(const ElfFile& file, const std::vector<FunctionSymbol>& functions);

// Returns rows for a section of PLT stubs.
std::vector<UnwindRow> rows_of_stubs(uint64_t address, std::string_view code, const Architecture& architecture);

} // namespace sonde
