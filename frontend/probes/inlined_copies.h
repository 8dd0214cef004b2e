// Why a probe of a function had no hits: copies of it that were inlined, which the probe is not about.
#pragma once

#include <cstdint>

#include "frontend/probes/probe.h"
#include "runtime/plan.h"

namespace sonde {

// Inlined copies of a point's function that the point leaves out, as `.call` and `.return` do.
uint64_t count_inlined_copies(ProbeEnvironment& env, const plan::Point& point);

} // namespace sonde
