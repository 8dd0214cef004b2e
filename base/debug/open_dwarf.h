// Opens debug information with libdw. All code uses this.
//
// The problem: libdw decompresses all compressed sections of a file when it opens the file, and libelf allows sizes of
// a thousand times the compressed size. A program of 3 MB, which any user may run, could cost the session 3 GB.
//
// The idea: first add up the sizes in the sections' headers (unpacked_limit() in base/unpack.h). A wrong header is
// harmless, because libelf does not decompress more than it states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/debug/dwarf_handle.h"
#include "base/elf_file.h"

namespace sonde {

// Why the file's debug information would need too much memory, with the file and the sizes. Empty if it would not.
std::string why_not_unpack(const ElfFile& file);

// A file's debug information, together with dwz's common file if the file refers to one. The file must outlive this
// object.
struct OpenedDwarf {
    std::optional<ElfFile> common;
    DwarfHandle common_dwarf, dwarf;

    // Returns false if libdw finds nothing readable, or if the size is too large. `problems`: receives descriptions of
    // the causes. `may_download`: allow downloading the common file.
    bool open(const ElfFile& file, bool may_download, std::vector<std::string>& problems);
    void close();
};

} // namespace sonde
