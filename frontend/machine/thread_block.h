// Finds a module's thread-local variables, as far as this is possible from its file.
//
// The block of a program is at a fixed distance from the thread pointer (Drepper, "ELF Handling for Thread-Local
// Storage", section 3; Architecture::thread_storage()).
//
// The block of a library is known only at run time. A handler finds it through the values that the loader has written
// into the library's global offset table. There are three kinds of slots:
//
// * the distance of a variable from the thread pointer;
// * the library's index in the table of blocks that each thread has (section 3, "dtv");
// * a descriptor of a variable (Oliva and Araújo, "Speeding Up Thread-Local Storage Access in Dynamic Libraries in the
//   ARM Platform"): the address of a function and its argument. The library calls the function.
//
// In glibc, the pointer to the table of blocks is near the thread pointer, and each of its entries has two words.
#pragma once

#include <cstdint>
#include <optional>

#include "base/elf_file.h"
#include "frontend/machine/address.h"

namespace sonde {

// The thread-local block of a module.
struct ThreadBlock {
    // For programs: the distance from the thread pointer; for libraries it is known at run time only.
    std::optional<int64_t> distance;
    uint64_t size = 0; // in bytes
};

// A place in a library that the loader fills. It is about the variable at `offset` in the block.
struct ThreadSlot {
    enum Kind {     // beginning with the one that takes the fewest reads
        Distance,   // a word: from the thread pointer to the variable
        Module,     // a word: the library's index in the threads' tables of blocks
        Descriptor, // two words
    };
    Address address = 0;
    Kind kind = Distance;
    int64_t offset = 0;
    // Whether the threads' tables may be those of glibc. False with musl.
    bool has_glibc_table = true;
};

// Returns nullopt if the module has no thread-local variables, or if its header makes no sense.
std::optional<ThreadBlock> find_thread_block(const ElfFile& file);
// Returns the slot of a library that takes the fewest reads. Returns nullopt if it has none.
std::optional<ThreadSlot> find_thread_slot(const ElfFile& file);

} // namespace sonde
