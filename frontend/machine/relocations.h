// The relocations of a program or library: the values that the loader writes into it. Sources: System V ABI, chapter 4,
// "Relocation".
#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "arch/relocations.h"
#include "base/elf_file.h"

namespace sonde {

// One relocation of the type RELA.
struct Relocation {
    uint64_t slot = 0; // the address of the value, as linked
    DynamicRelocation kind = DynamicRelocation::Other;
    int64_t addend = 0;
    Elf64_Sym symbol{};    // all zeros if the relocation has no symbol
    std::string_view name; // the symbol's name without a version, or ""; valid as long as the file

    // Whether the value is the address of the symbol.
    bool is_to_symbol() const { return kind == DynamicRelocation::Call || kind == DynamicRelocation::Pointer; }
};

// Visits the relocations in .rela.plt, then those in .rela.dyn.
void for_each_relocation(const ElfFile& file, const std::function<void(const Relocation&)>& visit);

} // namespace sonde
