// A file's debug information, its own or that of the file beside it (base/debug_file.h), as libdw has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/debug/open_dwarf.h"
#include "base/debug_file.h"
#include "base/elf_file.h"

namespace sonde {

struct DebugInfo {
    std::optional<ElfFile> beside;
    OpenedDwarf opened;

    Dwarf* dwarf() const { return opened.dwarf.get(); }
    // False: there is none. `problems`: what stood in the way, in words.
    bool open(const ElfFile& file, std::vector<std::string>& problems) {
        if (!has_dwarf(file))
            beside = find_debug_file(file);
        return (beside || has_dwarf(file)) && opened.open(beside ? *beside : file, false, problems);
    }
};

} // namespace sonde
