// The relocations of a program or library: the values that the loader writes into it. Sources: System V ABI, chapter 4,
// "Relocation"; the x86-64 types are in psABI, section 4.4.1.
#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/elf_file.h"

namespace sonde {

// One relocation of the type RELA.
struct Relocation {
    uint64_t slot = 0; // the address of the value, as linked
    uint32_t type = 0; // R_X86_64_*
    int64_t addend = 0;
    Elf64_Sym symbol{};    // all zeros if the relocation has no symbol
    std::string_view name; // the symbol's name without a version, or ""; valid as long as the file
};

// Visits the relocations in .rela.plt, then those in .rela.dyn.
void for_each_relocation(const ElfFile& file, const std::function<void(const Relocation&)>& visit);

} // namespace sonde
