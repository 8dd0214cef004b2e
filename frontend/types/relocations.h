// The relocations that the loader makes in a program or library: what it writes where (System V ABI, chapter 4,
// "Relocation"; the types are x86-64's, psABI 4.4.1).
#pragma once

#include <elf.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/elf_file.h"

namespace sonde {

struct Relocation {
    uint64_t slot = 0; // where it writes, as linked
    uint32_t type = 0; // R_X86_64_*
    int64_t addend = 0;
    Elf64_Sym symbol{};    // all zeros without one
    std::string_view name; // the symbol's, without a version; lives as long as the file. Empty without one
};

// Those of .rela.plt, then those of .rela.dyn.
void for_each_relocation(const ElfFile& file, const std::function<void(const Relocation&)>& visit);

} // namespace sonde
