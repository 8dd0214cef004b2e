// What functions' entries saved for their returns, in maps by thread: a forked child returns from these calls as well.
#pragma once

#include <algorithm>

#include "runtime/plan/plan.h"

namespace sonde::plan {

// The program that copies it when a process forks. An object has it where saves_calls() and the kernel's types are
// known; with it goes the map `sonde_savers`, an array of bytes for threads that have saved something.
constexpr const char* saved_calls_fork = "sonde_saved_calls_fork";

inline bool saves_calls(const Probe& probe) { return is_uprobe(probe.kind) && !probe.entry_map.empty(); }
inline bool saves_calls(const Plan& plan) {
    return std::any_of(plan.probes.begin(), plan.probes.end(), [](const Probe& one) { return saves_calls(one); });
}

} // namespace sonde::plan
