// The time stamp counter.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace sonde {

inline uint64_t read_cycle_counter() { return __rdtsc(); }

} // namespace sonde
