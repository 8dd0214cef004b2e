// The state of one running session. The code of host handlers has an opaque pointer to it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/containers/session_groups.h"
#include "runtime/engine/batches.h"
#include "runtime/engine/error_reporter.h"
#include "runtime/engine/held_back.h"
#include "runtime/engine/host_object.h"
#include "runtime/engine/host_run.h"
#include "runtime/engine/interrupter.h"
#include "runtime/engine/session_options.h"
#include "runtime/engine/speculation.h"
#include "runtime/kernel/kernel_memory.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/process_numbers.h"
#include "runtime/processes/target_files.h"
#include "runtime/sinks/sink.h"
#include "runtime/symbols/symbols.h"
#include "runtime/text/accounting.h"
#include "runtime/text/messages.h"
#include "runtime/text/output.h"
#include "runtime/text/warned_once.h"
#include "runtime/values/host_arrays.h"
#include "runtime/values/session_data.h"

namespace sonde {

// The text of a record, up to its NUL.
std::string text_of(std::span<const uint8_t> bytes);

// The reason of a flight recorder's recording about a crash. `who`: a process or a command.
std::string describe_crash(const std::string& who, int signal);

// The target of -c or -x.
struct TracedTarget {
    TargetFiles files;                      // files that the target has executed or mapped
    std::string program;                    // the target's first program; empty: unknown
    std::map<std::string, uint64_t> probed; // the result of probed_inodes() when the probes were armed
};

// One object for each session. Members are public, because each part of the engine is a file of free functions over
// this state.
class Session {
  public:
    Session(const plan::Plan& plan, const SessionOptions& options, const Translate& translate,
            const SessionHooks& hooks)
        : plan(plan), options(options), translate(translate), hooks(hooks) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const plan::Plan& plan;
    const SessionOptions& options;
    const Translate& translate;
    const SessionHooks& hooks;
    Output output;
    std::unique_ptr<Messages> messages; // declared after `output`, because it may use the same writer
    std::unique_ptr<HeldBack> held_back;
    HostObject host_object;
    KernelMemory kernel_memory;
    SessionData data{plan};
    Sinks sinks; // destroyed before the data that they read
    Speculations speculations;
    Batches batches;
    bool exiting = false;     // the session must end, for any reason
    bool interrupted = false; // a signal or -T has ended the session
    bool failed = false;      // a fatal error occurred, or more errors than MAXERRORS
    Accounting accounting;    // counts of lost data
    WarnedOnce warned;        // by checks that may find the same process again
    HostRun host;
    ErrorReporter errors{*this};
    TracedTarget target;
    SessionGroups groups{plan};               // control groups, for handlers in the kernel
    bool exited = false;                      // the script has called exit()
    std::set<const plan::Probe*> removed;     // by the user, while the session runs (--editable)
    std::unique_ptr<Interrupter> interrupter; // null until the programs are loaded

    // Processes a record of a handler, in the kernel or in this process.
    void handle_record(const uint8_t* record, size_t size);
    void run_host_handler(const plan::Probe& probe);
    // until_sinks() returns the nanoseconds until a sink has work to do, at most `most`. turn_sinks() lets all sinks do
    // their work.
    int64_t until_sinks(int64_t now, int64_t most) const;
    void turn_sinks(int64_t now, bool handlers_follow = false);
    void tell_sinks(SinkText kind, std::string_view text);
    // Lets the flight recorder write a recording. `time`: of the event, on the clock of records; 0: now.
    void dump(std::string_view why, int64_t time = 0);

    // For the end of the session: collect losses, explain probes without hits, print the summary.
    void count_losses();
    void say_unhit();
    void report();

  private:
    void handle_speculation(uint32_t type, std::span<const uint8_t> payload);
    void write_to_kernel(const Result<Fd>& file, const char* name, const std::string& text);
    bool warned_of_dump_ = false;
    bool is_in_batch_ = false;      // handles records that one run of a handler has sent together
    bool warned_of_kernel_ = false; // a failed write to the kernel's log or trace was reported
};

} // namespace sonde
