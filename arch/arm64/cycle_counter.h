// The virtual counter.
#pragma once

#include <cstdint>

namespace sonde {

inline uint64_t read_cycle_counter() {
    uint64_t out = 0;
    asm volatile("isb; mrs %0, cntvct_el0" : "=r"(out));
    return out;
}

} // namespace sonde
