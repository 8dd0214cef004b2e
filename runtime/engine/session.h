// Runs a Plan: loads, attaches, pumps events, runs host handlers, detaches, reports.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/sink.h"
#include "runtime/text/accounting.h"
#include "runtime/text/output.h"

namespace sonde {

struct SessionOptions {
    std::string command;            // -c: run by the shell, started stopped, let go when every probe is armed
    int64_t target_pid = 0;         // -x
    std::vector<std::string> files; // -d: their tables are there from the beginning, not from when they are met
    OutputFile output;              // -o, -S
    SinkMaker make_sinks = [](SessionData&, Output&) { return Sinks(); }; // what consumes the events
    double time_limit_s = 0;                                              // -T; 0: none
    std::string saved_as; // the name of the saved plan that runs; empty: it was made just now
    // --output-wait: how long the end waits for a reader of the output that takes nothing. By default 2 seconds after a
    // signal or -T, and 300 after an end of the session's own.
    std::optional<double> output_wait_s;
    bool raw = false; // --raw: terminals get what the traced programs say as it is
    int verbose = 0;
    bool timing = false;     // -t
    bool one_by_one = false; // -u: handlers of one point stand alone, and an error of one ends the session
    // --overload: the percentage of one processor from which on a probe is disarmed; infinity: never.
    std::optional<double> overload;
    LossKinds tolerated; // --lossy-ok: these losses do not change the exit status
    // The points are several ways to see one kind of event: that some were never hit is no news, that none was is.
    bool several_ways = false;
    // How many inlined copies a point's function has that the point is not about; asked for points without a hit.
    std::function<uint64_t(const plan::Point&)> inlined_copies;
    // Called once, when every probe is armed.
    std::function<void()> armed = [] {};
    // Called again and again while it runs, at least once a second, as long as it gets on.
    std::function<void()> turned = [] {};
    // Called when it is to end because of SIGHUP.
    std::function<void()> hung_up = [] {};
    std::string attach = ""; // "perf_event" forces the oldest mechanism, "uretprobe" the one before sessions; empty:
                             // newest that works
};

// Exit status as stap's: 0 success (also when interrupted), 1 on errors. A failed -c command is reported and gives 1.
// exit_lossy (runtime/text/accounting.h) where all that went well, and something was lost.
// Errors: what could not be loaded or attached, in words, a verifier's refusal with the script's line; then nothing
// stays attached. kernel_cannot_compile (runtime/load/load.h).
Result<int> run_session(const plan::Plan& plan, const SessionOptions& options);

} // namespace sonde
