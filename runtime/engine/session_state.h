// One running session: everything that host handlers' code reaches through its opaque `session` pointer.
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
#include "runtime/engine/session.h"
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
#include "runtime/values/host_arrays.h"
#include "runtime/values/session_data.h"

namespace sonde {

// The text of a record, up to its NUL.
std::string text_of(std::span<const uint8_t> bytes);

// What -c or -x traces.
struct TracedTarget {
    TargetFiles files;                      // that it runs and loads
    std::string program;                    // that it begins with; empty: not known
    std::map<std::string, uint64_t> probed; // probed_inodes(), when the probes were armed
};

class Session {
  public:
    Session(const plan::Plan& plan, const SessionOptions& options) : plan(plan), options(options) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const plan::Plan& plan;
    const SessionOptions& options;
    Output output;
    Sinks sinks;
    std::unique_ptr<Messages> messages; // after output, which it may share
    std::unique_ptr<HeldBack> held_back;
    HostObject host_object;
    KernelMemory kernel_memory;
    SessionData data{plan};
    Speculations speculations;
    Batches batches;
    bool exiting = false;     // exit() was called, or the session ends for another reason
    bool interrupted = false; // it ends because it was told to: by a signal or -T
    bool failed = false;      // more soft errors than allowed
    Accounting accounting;    // what was lost
    HostRun host;
    ErrorReporter errors{*this};
    TracedTarget target;
    SessionGroups groups{plan};               // what its handlers know of control groups
    bool exited = false;                      // the script ended the session
    std::unique_ptr<Interrupter> interrupter; // null: no probes have run yet

    // A record from a handler, of either place.
    void handle_record(const uint8_t* record, size_t size);
    void run_host_handler(const plan::Probe& probe);
    // While it runs: the sinks' earliest turn, `most` nanoseconds from now at most; and that turn.
    int64_t until_sinks(int64_t now, int64_t most) const;
    void turn_sinks(int64_t now, bool handlers_follow = false);
    void tell_sinks(SinkText kind, std::string_view text);

    // At the end.
    void count_losses();
    void say_unhit();
    void report();

  private:
    void handle_speculation(uint32_t type, std::span<const uint8_t> payload);
    void write_to_kernel(const Result<Fd>& file, const char* name, const std::string& text);
    bool warned_of_kernel_ = false; // what it does not let be written
};

} // namespace sonde
