// Split debug information that is stored in the object files together with the normal sections (-gsplit-dwarf=single).
//
// libdw opens the files that skeleton units name. But it uses the first .debug_info section in each, which is the
// skeleton again. So sonde copies these files to a temporary directory and removes the names of all other sections.
// libdw searches first in the directory of the program, so the program is copied as well. All files are open when the
// function returns, and the directory is then removed.
#pragma once

#include <optional>

#include "base/debug/dwarf_handle.h"
#include "base/elf_file.h"

namespace sonde {

// A copy of the program, with its split units.
struct EmbeddedSplit {
    ElfFile file;
    DwarfHandle dwarf; // must not outlive `file`
};

// Returns nullopt if `dwarf`, the debug information of `file`, names no such files, or if they cannot be read.
std::optional<EmbeddedSplit> open_embedded_split(const ElfFile& file, Dwarf* dwarf);

} // namespace sonde
