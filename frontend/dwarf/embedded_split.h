// Split debug information that lies in the object files beside their own (-gsplit-dwarf=single).
//
// libdw opens the files that skeleton units name, but takes the first .debug_info of each, which is the skeleton again.
// So it gets copies of these files in a folder of its own, whose other sections have lost their names. It looks first
// in the folder where the program is; hence the program is copied too. All files are open when this returns, and the
// folder is removed.
#pragma once

#include <optional>

#include "base/debug/dwarf_handle.h"
#include "base/elf_file.h"

namespace sonde {

// A program's copy, with its split units.
struct EmbeddedSplit {
    ElfFile file;
    DwarfHandle dwarf; // must not outlive the file
};

// nullopt: `dwarf`, which is `file`'s, names no such files, or they cannot be read.
std::optional<EmbeddedSplit> open_embedded_split(const ElfFile& file, Dwarf* dwarf);

} // namespace sonde
