// Compiles what handlers in the kernel know of one file (symbols/file_table.h has the layout).
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

struct TableParts {
    const UnwindRules* unwind = nullptr;
    std::span<const FunctionSymbol> functions;
    const LineTable* lines = nullptr;
    const InlineTable* inlined = nullptr;
};

// The table's elements. Rows for what has no place in the file, or one beyond 4 GB, are left out.
std::vector<uint64_t> compile_table(const ElfFile& file, const std::string& path, const TableParts& parts);

} // namespace sonde
