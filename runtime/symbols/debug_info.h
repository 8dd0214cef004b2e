// A file's debug information, its own or that of the file beside it (base/debug_file.h), as libdw has it.
#pragma once

#include <optional>

#include "base/debug/dwarf_handle.h"
#include "base/debug_file.h"
#include "base/elf_file.h"

namespace sonde {

struct DebugInfo {
    std::optional<ElfFile> beside;
    DwarfHandle dwarf;

    // False: there is none.
    bool open(const ElfFile& file) {
        if (!has_dwarf(file))
            beside = find_debug_file(file);
        if (beside || has_dwarf(file))
            dwarf.reset(dwarf_begin_elf(beside ? beside->elf() : file.elf(), DWARF_C_READ, nullptr));
        return dwarf != nullptr;
    }
};

} // namespace sonde
