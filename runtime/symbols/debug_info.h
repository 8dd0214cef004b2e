// Opens the DWARF data of a file with libdw. The data is in the file itself or in its separate debug file
// (base/debug_file.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/debug/open_dwarf.h"
#include "base/debug_file.h"
#include "base/elf_file.h"

namespace sonde {

// The file that is passed to open() must outlive the object.
struct DebugInfo {
    std::optional<ElfFile> beside; // the separate debug file, if the file itself has no DWARF data
    OpenedDwarf opened;

    Dwarf* dwarf() const { return opened.dwarf.get(); }
    // Returns false if no debug information exists or it cannot be read. In the second case, adds an error message to
    // `problems`.
    bool open(const ElfFile& file, std::vector<std::string>& problems) {
        if (!has_dwarf(file))
            beside = find_debug_file(file);
        return (beside || has_dwarf(file)) && opened.open(beside ? *beside : file, false, problems);
    }
};

} // namespace sonde
