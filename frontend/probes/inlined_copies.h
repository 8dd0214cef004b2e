// Explains why a probe of a function had no hits: the compiler inlined the function, and the probe does not cover
// inlined copies.
#pragma once

#include <cstdint>

#include "frontend/probes/probe.h"
#include "runtime/plan/points.h"

namespace sonde {

// Returns the number of inlined copies of the point's function that the point does not cover, because it uses `.call`
// or `.return`.
uint64_t count_inlined_copies(ProbeEnvironment& env, const plan::Point& point);

} // namespace sonde
