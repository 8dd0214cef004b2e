// Maps addresses to source lines, using DWARF's line tables (DWARF 5, section 6.2). Hides libdw from its callers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// A row of a line table: the code from `address` on belongs to this line.
struct SourceRow {
    uint64_t address = 0; // as linked; valid up to the next row
    uint32_t line = 0;    // 0: no line
    uint32_t file = 0;    // index into LineTable::files
};
struct LineTable {
    std::vector<std::string> files;
    std::vector<SourceRow> rows; // sorted
};

// Reads the line tables of a whole file, from the file or from its separate debug file (base/debug_file.h). Empty if no
// debug information exists. An error adds a message to `problems`.
LineTable read_lines(const ElfFile& file, std::vector<std::string>& problems);

// Looks up single addresses. Reads only the compilation units that contain them.
class LineFinder {
  public:
    // Debug information that exists but cannot be read adds an error message to `problems`.
    LineFinder(const ElfFile& file, std::vector<std::string>& problems);
    ~LineFinder();
    LineFinder(LineFinder&&) noexcept;

    struct Line {
        std::string file;
        uint32_t line = 0;
    };
    // Returns nothing if the address has no line.
    std::optional<Line> find(uint64_t address);

  private:
    friend LineTable read_lines(const ElfFile& file, std::vector<std::string>& problems);
    struct Debug;
    std::unique_ptr<Debug> debug_; // null: no debug information
};

} // namespace sonde
