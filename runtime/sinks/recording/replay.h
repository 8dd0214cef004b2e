// Replays a recording: gives other sinks what those of the session received.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/sinks/sink.h"
#include "runtime/text/output.h"

namespace sonde {

// Reads a recording up to its end, or up to damage, which is reported. Runs no code of the recording. Returns the exit
// status of the session; exit_lossy (text/accounting.h) if the recording has no end. Errors: the file is not a
// recording, or nothing of it is readable; a sink failed.
Result<int> replay(const std::string& file, const OutputFile& output, bool raw, const SinkMaker& make_sinks);

} // namespace sonde
