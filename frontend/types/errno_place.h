// Where a thread's `errno` is, without debug information: glibc's is a thread-local variable of the C library, which
// the library's symbols name, and whose distance from the thread pointer the loader writes into the library (as in
// thread_block.h). Where the library is, a pointer in the probed program tells that the loader has set to one of its
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace sonde {

// The address is: the thread pointer + `offset`, + what `distance_slot` holds unless the program is linked statically.
// That slot is in the C library, which lies where the pointer in `import_slot` leads, less `import_address`; without an
// import the probed module is the library itself. All places are as linked.
struct ErrnoPlace {
    struct Import {
        uint64_t slot = 0;    // in the probed module
        uint64_t address = 0; // in the C library
    };
    int64_t offset = 0;
    std::optional<uint64_t> distance_slot;
    std::optional<Import> import;
};

// For the program or library in that file. Errors: in words, why it cannot be known (no glibc, no pointer).
Result<ErrnoPlace> find_errno(const std::string& path);

} // namespace sonde
