// Which points are about memory of processes that run a program, now or later.
#pragma once

#include <algorithm>

#include "runtime/plan/plan.h"

namespace sonde {

inline bool watches_program(const plan::Probe& probe, const plan::Point& point) {
    return probe.kind == plan::ProbeKind::Watch && !point.watch.is_kernel && !point.program.empty();
}

// Whether the plan needs the programs and maps that hold processes at their beginning: `sonde_watches`, a ring buffer,
// `sonde_watched`, a hash of process (u32) -> family (u64), and `sonde_families`, a hash of family -> sonde_family
// (watch_events.h).
inline bool watches_programs(const plan::Plan& plan) {
    return std::any_of(plan.probes.begin(), plan.probes.end(), [](const plan::Probe& probe) {
        return std::any_of(probe.points.begin(), probe.points.end(),
                           [&](const plan::Point& point) { return watches_program(probe, point); });
    });
}

} // namespace sonde
