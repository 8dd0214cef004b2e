// Line tables have the names of source files as strings that end with NUL: in the table itself (DWARF 4 and before), or
// in a section for strings (DWARF 5). A name in another role only costs the time for reading the line tables.
//
// Source: DWARF 5, 6.2.4 "The Line Number Program Header".
#include "base/debug/source_names.h"

#include <elf.h>

#include <cstring>

#include "base/elf_file.h"

namespace sonde {

bool may_name_source(const std::string& program, std::string_view name) {
    const Result<ElfFile> file = ElfFile::open_any_machine(program);
    if (!file)
        return false;
    if (file->section_data(".debug_line").empty() || file->find_section(".gnu_debugaltlink"))
        return true;
    const std::string wanted = std::string(name) + '\0';
    for (const char* section : {".debug_line_str", ".debug_line", ".debug_str"}) {
        const ElfSection* found = file->find_section(section);
        if (found && found->flags & SHF_COMPRESSED)
            return true;
        const std::string_view data = file->section_data(section);
        if (!data.empty() && memmem(data.data(), data.size(), wanted.data(), wanted.size()))
            return true;
    }
    return false;
}

} // namespace sonde
