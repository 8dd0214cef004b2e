// Creates the sinks of the options.
#pragma once

#include "driver/options.h"
#include "runtime/sinks/sink.h"

namespace sonde {

// Returns a function that creates the sinks for a session. `options` must outlive the function.
SinkMaker sink_maker(const Options& options);

} // namespace sonde
