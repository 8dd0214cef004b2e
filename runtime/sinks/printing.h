// The formats of --format. Each is a sink that writes records to the session's output. At the end, it also writes the
// globals that no handler has read.
#pragma once

#include "runtime/sinks/sink.h"
#include "runtime/text/output.h"

namespace sonde {

struct PrintSettings {
    OutputFormat format = OutputFormat::Text;
    bool raw = false;           // --raw: do not escape control characters on a terminal
    bool prints_globals = true; // false: --no-global-var-display
};

std::unique_ptr<Sink> make_print_sink(SessionData& data, Output& output, const PrintSettings& settings);

} // namespace sonde
