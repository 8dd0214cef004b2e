// Source lines by address, from DWARF's line number tables; libdw stays behind this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

struct LineRow {
    uint64_t address = 0; // as linked; the row holds up to the next one's
    uint32_t line = 0;    // 0: none
    uint32_t file = 0;    // index into LineTable::files
};
struct LineTable {
    std::vector<std::string> files;
    std::vector<LineRow> rows; // sorted
};

// Empty without debug information, in the file or beside it (base/debug_file.h).
LineTable read_lines(const ElfFile& file);

} // namespace sonde
