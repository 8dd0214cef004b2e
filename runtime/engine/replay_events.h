// Runs a script over the events of a recording, instead of a session of the running system.
#pragma once

#include <functional>

#include "runtime/engine/handler_runs.h"
#include "runtime/engine/rings.h"
#include "runtime/engine/session_state.h"
#include "runtime/values/recorded_events.h"

namespace sonde {

// Lets the session's clocks show the time of the recording, and takes the names of addresses from it. Call this before
// the sinks are created.
void adopt_recording(Session& session, RecordedEvents& events);
// Runs the handlers of all events, and of timers by the time of the events, until the recording or the session ends.
// `turn` is called from time to time; it returns true to end the session.
void replay_events(Session& session, Rings& rings, RecordedEvents& events, const std::function<bool()>& turn);
// Reports events for which a handler did not run, because they lack a value.
void say_lacking(const Session& session);

} // namespace sonde
