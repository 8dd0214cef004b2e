// The processes of the target and its descendants, as a bit map by process number. It is the memory of the map
// `sonde_targets`, which handlers in the kernel read and change at the same time. So all accesses are atomic.
#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace sonde {

// A view of the map. Numbers are those of the initial PID namespace (ProcessNumbers::in_kernel()).
class TargetSet {
  public:
    // `bits`: the mapped memory of `sonde_targets`. Null: the session has no target, so has() is true for every
    // process.
    explicit TargetSet(uint64_t* bits) : bits_(bits) {}

    bool has(int64_t process) const {
        return !bits_ || (__atomic_load_n(word(process), __ATOMIC_RELAXED) & bit(process));
    }
    // Returns false if the process is in the set already, because a program in the kernel may have added it.
    bool add(int64_t process) {
        return !(__atomic_fetch_or(word(process), bit(process), __ATOMIC_RELAXED) & bit(process));
    }

    void remove(int64_t process) { __atomic_fetch_and(word(process), ~bit(process), __ATOMIC_RELAXED); }

  private:
    uint64_t* word(int64_t process) const { return bits_ + static_cast<uint64_t>(process) % plan::most_processes / 64; }
    static uint64_t bit(int64_t process) { return 1ull << (process % 64); }
    uint64_t* bits_;
};

} // namespace sonde
