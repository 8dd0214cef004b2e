// Finds a thread's `errno` without debug information.
//
// In glibc, `errno` is a thread-local variable of the C library. The library's symbol table has its offset in the
// library's thread-local block. The distance of that block from the thread pointer is known only at run time: the
// loader writes it into the library (see thread_block.h). To find the library's address at run time, a handler reads a
// pointer in the probed program that the loader has set to one of the library's functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "arch/architecture.h"
#include "base/result.h"

namespace sonde {

// How to compute the address of `errno`. It is the thread pointer plus `offset`, plus the word at `distance_slot` (if
// the program is not linked statically). `distance_slot` is in the C library. The library's load address is the word at
// `import->slot` minus `import->address`. Without `import`, the probed module is the library. All addresses are as
// linked.
struct ErrnoPlace {
    struct Import {
        uint64_t slot = 0;    // in the probed module
        uint64_t address = 0; // in the C library
    };
    int64_t offset = 0;
    std::optional<uint64_t> distance_slot;
    std::optional<Import> import;
};

// Finds `errno` for the program or library in a file. Fails with a reason if this is not possible, for example without
// glibc or without such a pointer.
Result<ErrnoPlace> find_errno(const std::string& path, const Architecture& architecture);

} // namespace sonde
