// How long a session waits for the reader of its output (docs/decisions/runtime.md).
#pragma once

#include <cstdint>

#include "runtime/engine/session_state.h"
#include "runtime/engine/signals.h"

namespace sonde {

// -T in nanoseconds; INT64_MAX without it.
int64_t time_limit_ns(const Session& session);

// begin handlers may print more than fits into the buffer, so they wait for the reader, until a signal or -T.
void be_patient_in_begin(Session& session, Signals& signals);

// How long the session's end waits for the reader: --output-wait, or a short time after a signal, or a long one.
Patience patience_at_end(const Session& session);

// The last wait for the reader. Counts the lines that the reader did not take.
void finish_output(Session& session, Signals& signals);

} // namespace sonde
