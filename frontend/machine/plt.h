// The procedure linkage table (PLT), through which a program calls functions of other objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// One entry of the table.
struct PltEntry {
    std::string name;     // the called function, without a version
    uint64_t address = 0; // of the entry, as linked
};

// Returns the entries of an ELF file, sorted by address. Not all calls use the table: programs linked with `-fno-plt`
// and a library's calls of its own functions do not.
std::vector<PltEntry> read_plt(const ElfFile& file);

} // namespace sonde
