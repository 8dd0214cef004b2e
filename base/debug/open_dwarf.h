// How libdw is begun: the one place for it.
//
// libdw unpacks every compressed section of a file as soon as the file is opened, and libelf allows a thousand times
// the packed size: a program of 3 MB, which anybody may run, would cost the session 3 GB. So the sizes that the
// sections' headers state are added up before (unpacked_limit() in base/unpack.h). A lie is harmless: libelf unpacks no
// more than the header states.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/debug/dwarf_handle.h"
#include "base/elf_file.h"

namespace sonde {

// Why the file's debug information would take too much memory, with the file and the sizes; empty: it would not.
std::string why_not_unpack(const ElfFile& file);

// A file's debug information, with dwz's common file where it names one. The file must outlive it.
struct OpenedDwarf {
    std::optional<ElfFile> common;
    DwarfHandle common_dwarf, dwarf;

    // False: libdw finds nothing that it can read, or the size is refused. `problems`: what stood in the way, in words.
    // `may_download`: the common file, from a server.
    bool open(const ElfFile& file, bool may_download, std::vector<std::string>& problems);
    void close();
};

} // namespace sonde
