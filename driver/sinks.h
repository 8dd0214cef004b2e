// The sinks that the options ask for.
#pragma once

#include "driver/options.h"
#include "runtime/sinks/sink.h"

namespace sonde {

// A maker of them for a session. It copies what it needs of the options.
SinkMaker sink_maker(const Options& options);

} // namespace sonde
