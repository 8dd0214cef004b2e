// Values that are saved at a function's entry for its return are in maps with the thread as the key. After a fork, the
// child also returns from these calls, so its entries must be copied.
#pragma once

#include <algorithm>

#include "runtime/plan/kinds.h"
#include "runtime/plan/plan.h"

namespace sonde::plan {

// The program programs::saved_calls_fork copies them. An object contains it if saves_calls() is true and the kernel's
// types are known. It skips threads that have no saved values (maps::savers).

// Whether the probe's program at the function's entry saves values.
inline bool saves_calls(const Probe& probe) { return is_uprobe(probe.kind) && !probe.entry_map.empty(); }
inline bool saves_calls(const Plan& plan) {
    return std::any_of(plan.probes.begin(), plan.probes.end(), [](const Probe& one) { return saves_calls(one); });
}

} // namespace sonde::plan
