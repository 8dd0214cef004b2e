// Source lines by address, from DWARF's line number tables; libdw stays behind this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

struct SourceRow {
    uint64_t address = 0; // as linked; the row holds up to the next one's
    uint32_t line = 0;    // 0: none
    uint32_t file = 0;    // index into LineTable::files
};
struct LineTable {
    std::vector<std::string> files;
    std::vector<SourceRow> rows; // sorted
};

// The whole of a file. Empty without debug information, in the file or beside it (base/debug_file.h).
LineTable read_lines(const ElfFile& file, std::vector<std::string>& problems);

// Single lines: reads only the units that are asked for.
class LineFinder {
  public:
    // `problems`: why debug information that is there cannot be read, in words.
    LineFinder(const ElfFile& file, std::vector<std::string>& problems);
    ~LineFinder();
    LineFinder(LineFinder&&) noexcept;

    struct Line {
        std::string file;
        uint32_t line = 0;
    };
    std::optional<Line> find(uint64_t address);

  private:
    friend LineTable read_lines(const ElfFile& file, std::vector<std::string>& problems);
    struct Debug;
    std::unique_ptr<Debug> debug_; // null: there is no debug information
};

} // namespace sonde
