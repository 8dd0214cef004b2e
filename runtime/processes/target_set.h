// The processes of the target's tree, as handlers in the kernel ask for them: a bit for each process id.
#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace sonde {

class TargetSet {
  public:
    // `bits`: the map `sonde_targets`, mapped. Null: there is no target, and every process is in the set.
    explicit TargetSet(uint64_t* bits) : bits_(bits) {}

    bool has(int64_t process) const {
        return !bits_ || (__atomic_load_n(word(process), __ATOMIC_RELAXED) & bit(process));
    }
    // False: it is there already. Programs in the kernel add others meanwhile.
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
