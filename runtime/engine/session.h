// Runs a plan: loads its programs, attaches its probes, processes events until the end, and reports losses.
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

// The options of a session. Letters in comments are those of the command line.
struct SessionOptions {
    std::string command;            // -c: a shell command; starts when every probe is armed
    int64_t target_pid = 0;         // -x
    std::vector<std::string> files; // -d: files whose symbols handlers need from the start
    OutputFile output;              // -o, -S
    SinkMaker make_sinks = [](SessionData&, Output&) { return Sinks(); }; // creates the consumers of events
    double time_limit_s = 0;                                              // -T; 0: no limit
    std::string saved_as; // name of the saved plan; empty: the plan was just compiled
    // --output-wait: how many seconds the session waits at its end for a reader of the output that has stopped reading.
    // The default is 2 seconds after a signal or -T, and 300 seconds otherwise.
    std::optional<double> output_wait_s;
    bool raw = false; // --raw: do not escape control characters on a terminal
    int verbose = 0;
    bool timing = false; // -t
    // -u: an error of a handler ends the session before the other handlers of the same point run.
    bool one_by_one = false;
    // --overload: disarm probes from this cost on, in percent of one processor; infinity: never.
    std::optional<double> overload;
    LossKinds tolerated; // --lossy-ok: losses that do not change the exit status
    // The script's points are alternatives for one kind of event. Do not warn if some of them were never hit, but warn
    // if none was hit.
    bool several_ways = false;
    // Returns the number of inlined copies of a point's function that the probe does not cover. Called for points
    // without hits.
    std::function<uint64_t(const plan::Point&)> inlined_copies;
    // Called once, when every probe is armed.
    std::function<void()> armed = [] {};
    // Called at least once a second while the session makes progress. A watchdog can use it.
    std::function<void()> turned = [] {};
    // Called when SIGHUP ends the session.
    std::function<void()> hung_up = [] {};
    std::string attach = ""; // "perf_event" forces the oldest mechanism, "uretprobe" the one before sessions; empty:
                             // the newest one that works
};

// Runs a session and returns its exit status:
// * 0: success, also after an interruption
// * 1: errors, or the command of -c has failed
// * exit_lossy (runtime/text/accounting.h): success, but data was lost
//
// Returns an error if a program could not be loaded or a probe could not be attached. If the verifier has rejected a
// program, the message has the script's line. Nothing remains attached. The error code kernel_cannot_compile
// (runtime/load/load.h) is possible.
Result<int> run_session(const plan::Plan& plan, const SessionOptions& options);

} // namespace sonde
