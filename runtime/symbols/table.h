// Compiles the table of a file that handlers in the kernel search (runtime/plan/file_table.h describes the layout).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/elf_file.h"
#include "runtime/symbols/functions.h"
#include "runtime/symbols/inlined.h"
#include "runtime/symbols/lines.h"
#include "runtime/symbols/unwind_rules.h"

namespace sonde {

// The inputs of a table. A null or empty member leaves its part of the table empty.
struct TableParts {
    const UnwindRules* unwind = nullptr;
    std::span<const FunctionSymbol> functions;
    const LineTable* lines = nullptr;
    const InlineTable* inlined = nullptr;
    uint32_t interpreter = 0, interpreter_loop = 0; // as in sonde_table_head
};

// Returns the elements of the table. Omits rows whose address is not in the file, or lies beyond its first 4 GB.
std::vector<uint64_t> compile_table(const ElfFile& file, const std::string& path, const TableParts& parts);

} // namespace sonde
