// Selects the points that watch memory of processes running a program.
#pragma once

#include <algorithm>

#include "runtime/plan/kinds.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Whether the point watches memory of all processes that run a program, and not of a single process or of the
// kernel.
inline bool watches_program(const plan::Probe& probe, const plan::Point& point) {
    return probe.kind == plan::ProbeKind::Watch && !point.watch.is_kernel && !point.program.empty();
}

// Returns whether the plan needs the programs and maps that stop processes at their first instruction: `sonde_watches`
// (ring buffer), `sonde_watched` (hash: process (u32) -> family (u64)), and `sonde_families` (hash: family ->
// sonde_family) (watch_events.h).
inline bool watches_programs(const plan::Plan& plan) {
    return std::any_of(plan.probes.begin(), plan.probes.end(), [](const plan::Probe& probe) {
        return std::any_of(probe.points.begin(), probe.points.end(),
                           [&](const plan::Point& point) { return watches_program(probe, point); });
    });
}

} // namespace sonde
