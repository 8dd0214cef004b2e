// The report of --cost: the time that a session took from the traced programs.
#pragma once

#include <cstdint>

#include "runtime/engine/session_state.h"

namespace sonde {

// Prints one line on standard error, for example:
//
//   3,214 hits took about 7 ms of the program's time, 0.3 % of 2.1 s: 1.27 us each for the handler, 0.91 us for the
//   breakpoint
//
// The handlers' time was measured by the handlers (plan::ProbeTiming). The time of a breakpoint is measured now. `ns`
// is the time between arming the probes and removing them. Without hits, it prints nothing.
void say_cost(const Session& session, int64_t ns);

} // namespace sonde
