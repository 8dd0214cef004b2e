// Runs the handlers that the session itself starts: of begin, end, error and timer probes, and of control files. They
// run one after the other, in the order of their probes. Several handlers of one point all run, even if one of them
// fails or calls exit(); so each is followed by the others of its point.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/rings.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/timers.h"

namespace sonde {

// Runs one handler, in the kernel or in this process. Records that came before it are handled first.
void run_handler(Session& session, Rings& rings, const plan::Probe& probe);

// Runs the handlers of these probes until one of them calls exit() or fails.
void run_points(Session& session, Rings& rings, const std::vector<const plan::Probe*>& probes);

// Runs the timers that were due before `end`, the end of -T, so that a late session still has the expected number of
// runs. The time is limited to 200 ms, or to 1 s for the first few runs of each timer.
void make_up(Session& session, Rings& rings, Timers& timers, int64_t end);

// Runs the handlers of begin probes, in the order of their priorities.
void run_begin_probes(Session& session, Rings& rings);

// Runs end probes. If the session failed, it runs error probes instead.
void run_end_probes(Session& session, Rings& rings);

} // namespace sonde
