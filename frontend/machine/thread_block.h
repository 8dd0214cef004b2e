// Finds a module's thread-local variables, as far as this is possible from its file.
//
// The block of a program is at a fixed distance from the thread pointer (Drepper, "ELF Handling for Thread-Local
// Storage", section 3.4.6; x86-64 uses "variant II").
//
// The block of a library is known only at run time. A handler finds it through the values that the loader has written
// into the library's global offset table. A TPOFF64 slot contains the distance of a variable from the thread pointer. A
// DTPMOD64 slot contains the library's index in the table of blocks that each thread has (section 3, "dtv"). In glibc,
// the pointer to that table follows the word that the thread pointer points to, and each of its entries has two words.
#pragma once

#include <cstdint>
#include <optional>

#include "base/elf_file.h"
#include "frontend/machine/address.h"

namespace sonde {

// The thread-local block of a module.
struct ThreadBlock {
    // For programs: the distance from the thread pointer (negative); for libraries it is known at run time only.
    std::optional<int64_t> distance;
    uint64_t size = 0; // in bytes
};

// A word of a library that the loader fills. It holds either the distance from the thread pointer to the variable at
// `offset` in the block, or the library's index in the threads' tables of blocks.
struct ThreadSlot {
    Address address = 0;
    bool distance = false;
    int64_t offset = 0;
};

// Returns nullopt if the module has no thread-local variables, or if its header makes no sense.
std::optional<ThreadBlock> find_thread_block(const ElfFile& file);
// Returns a slot of a library, preferably one with a distance. Returns nullopt if it has none.
std::optional<ThreadSlot> find_thread_slot(const ElfFile& file);

} // namespace sonde
