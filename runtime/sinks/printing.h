// The formats of printed output (--format): each is a sink that writes records, and at the end the globals that no
// handler read, to the session's output.
#pragma once

#include "runtime/sinks/sink.h"
#include "runtime/text/output.h"

namespace sonde {

struct PrintSettings {
    OutputFormat format = OutputFormat::Text;
    bool raw = false;           // --raw: control characters reach a terminal as they are
    bool prints_globals = true; // false: --no-global-var-display
};

std::unique_ptr<Sink> make_print_sink(SessionData& data, Output& output, const PrintSettings& settings);

} // namespace sonde
