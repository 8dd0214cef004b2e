// The sinks that the options ask for.
#pragma once

#include "driver/options.h"
#include "runtime/sinks/sink.h"

namespace sonde {

// Returns a function that creates them for a session. `options` must outlive it.
SinkMaker sink_maker(const Options& options);

} // namespace sonde
