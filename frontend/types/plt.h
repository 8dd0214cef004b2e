// The procedure linkage table: where a program calls functions of other objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

struct PltEntry {
    std::string name;     // the called function's, without a version
    uint64_t address = 0; // of the entry, as linked
};

// Of an ELF file, in address order. Calls that do not go through the table are not here: a program that is linked with
// `-fno-plt`, and a library's calls of its own functions.
std::vector<PltEntry> read_plt(const ElfFile& file);

} // namespace sonde
