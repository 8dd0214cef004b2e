// Versions of dynamic symbols: `f@V1` and `f@@V2` are different functions, and a caller that names no version gets the
// second. This is a GNU extension of ELF (Linux Standard Base, "Symbol Versioning").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// A dynamic symbol with its version.
struct VersionedSymbol {
    std::string_view name, version; // valid as long as the file
    uint64_t address = 0;
    bool is_default = false;
};

// Returns the versioned symbols that the file defines; empty if it has none.
std::vector<VersionedSymbol> read_symbol_versions(const ElfFile& file);

} // namespace sonde
