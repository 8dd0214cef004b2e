// Where the dynamic linker finds libraries of an architecture.
#pragma once

#include <cstdint>

namespace sonde {

struct LibrarySearch {
    uint32_t cache_flags; // of its libraries in /etc/ld.so.cache
    const char* folder;   // below /lib and /usr/lib, as Debian has it; also the value of $LIB, below /
    uint16_t machine;     // EM_*
};

} // namespace sonde
