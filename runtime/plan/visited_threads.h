// Selects the sessions that unwind stacks of threads which run no handler (thread_walk.h).
#pragma once

#include <algorithm>

#include "runtime/plan/kinds.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Returns whether handlers visit existing threads and print their stacks. The plan then needs the program and the map
// that copy a thread's registers.
inline bool visits_threads(const plan::Plan& plan) {
    return (plan.tables & plan::UnwindTable) && std::ranges::any_of(plan.probes, [](const plan::Probe& probe) {
               return plan::is_about(probe.kind, plan::Subject::ExistingTask);
           });
}

} // namespace sonde
