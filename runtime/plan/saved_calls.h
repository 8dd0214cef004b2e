// Values that are saved at a function's entry for its return are in maps with the thread as the key. After a fork, the
// child also returns from these calls, so its entries must be copied.
#pragma once

#include <algorithm>

#include "runtime/plan/plan.h"

namespace sonde::plan {

// The program that copies the entries when a process forks. An object contains it if saves_calls() is true and the
// kernel's types are known. It uses the map `sonde_savers` to skip threads that have no saved values: one byte for
// each thread number modulo its size, set when a thread saves values.
constexpr const char* saved_calls_fork = "sonde_saved_calls_fork";

// Whether the probe's program at the function's entry saves values.
inline bool saves_calls(const Probe& probe) { return is_uprobe(probe.kind) && !probe.entry_map.empty(); }
inline bool saves_calls(const Plan& plan) {
    return std::any_of(plan.probes.begin(), plan.probes.end(), [](const Probe& one) { return saves_calls(one); });
}

} // namespace sonde::plan
