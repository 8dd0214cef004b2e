// Where a module's thread-local variables are in a thread, as far as its file tells.
//
// A program's own block lies at a fixed distance from the thread pointer (Drepper, ELF Handling for Thread-Local
// Storage, section 3.4.6: x86-64 is "variant II"). A library's block is known at run time only. What the loader has
// written into the library's global offset table tells: a TPOFF64 slot the distance of one of its variables from the
// thread pointer, a DTPMOD64 slot the library's index in each thread's table of blocks (section 3, "dtv"; glibc: the
// pointer after the thread pointer's own word, two words an entry).
#pragma once

#include <cstdint>
#include <optional>

#include "base/elf_file.h"
#include "frontend/types/address.h"

namespace sonde {

struct ThreadBlock {
    std::optional<int64_t> distance; // a program's: from the thread pointer, negative. A library's is known at run time
};

// A library's word that the loader has filled: the distance from the thread pointer of what is at `offset` in the
// block, or the library's index in the threads' tables of blocks.
struct ThreadSlot {
    Address address = 0;
    bool distance = false;
    int64_t offset = 0;
};

// Nullopt: the module has no thread-local variables, or says of them what cannot be.
std::optional<ThreadBlock> find_thread_block(const ElfFile& file);
// A library's; nullopt: it has none. One with a distance is preferred.
std::optional<ThreadSlot> find_thread_slot(const ElfFile& file);

} // namespace sonde
