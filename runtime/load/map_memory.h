// The memory of a loaded object's maps, as the kernel accounts it.
#pragma once

#include <cstdint>

#include "runtime/load/load.h"

namespace sonde {

struct MapMemory {
    uint64_t now = 0;  // in bytes
    uint64_t most = 0; // when all arrays that grow are full
};
// Maps whose memory the kernel does not report count as empty.
MapMemory memory_of_maps(const KernelObject& kernel);

} // namespace sonde
