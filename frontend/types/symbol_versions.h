// Versions of dynamic symbols: `f@V1` and `f@@V2` are functions of their own, of which callers that name none get the
// second. The GNU extension of ELF (Linux Standard Base, "Symbol Versioning").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

struct VersionedSymbol {
    std::string_view name, version; // live as long as the file
    uint64_t address = 0;
    bool is_default = false;
};

// Those that the file defines; empty for files without versions.
std::vector<VersionedSymbol> read_symbol_versions(const ElfFile& file);

} // namespace sonde
