// Replays a recording: gives other sinks what those of the session received.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "runtime/sinks/recording/event_filter.h"
#include "runtime/sinks/sink.h"
#include "runtime/text/output.h"

namespace sonde {

enum class Pace : uint8_t {
    Fast, // without any pause
    Live, // as in the session; at the end waits until a sink ends the replay
};
struct ReplayOptions {
    OutputFile output;
    bool raw = false; // do not escape control characters
    Pace pace = Pace::Fast;
    EventFilter only = {}; // which printed events the sinks receive
};

// Reads a recording up to its end, or up to damage, which is reported. Runs no code of the recording. Returns the exit
// status of the session; exit_lossy (text/accounting.h) if the recording has no end. Errors: the file is not a
// recording, or nothing of it is readable; a sink failed. With Pace::Live, SIGINT and SIGTERM end the replay.
Result<int> replay(const std::string& file, const ReplayOptions& options, const SinkMaker& make_sinks);

} // namespace sonde
