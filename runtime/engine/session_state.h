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
#include "runtime/engine/held_back.h"
#include "runtime/engine/host_object.h"
#include "runtime/engine/interrupter.h"
#include "runtime/engine/session.h"
#include "runtime/engine/speculation.h"
#include "runtime/kernel/kernel_memory.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/process_numbers.h"
#include "runtime/processes/target_files.h"
#include "runtime/sinks/metrics/spans.h"
#include "runtime/sinks/pictures/heatmap.h"
#include "runtime/sinks/pictures/pictures.h"
#include "runtime/sinks/pictures/profile_pusher.h"
#include "runtime/sinks/pictures/timeline.h"
#include "runtime/symbols/symbols.h"
#include "runtime/text/accounting.h"
#include "runtime/text/messages.h"
#include "runtime/text/output.h"
#include "runtime/values/host_arrays.h"
#include "runtime/values/json_lines.h"
#include "runtime/values/session_data.h"

namespace sonde {

class Session {
  public:
    Session(const plan::Plan& plan, const SessionOptions& options) : plan(plan), options(options) {}
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const plan::Plan& plan;
    const SessionOptions& options;
    Output output;
    std::unique_ptr<Messages> messages; // after output, which it may share
    std::unique_ptr<HeldBack> held_back;
    HostObject host_object;
    KernelMemory kernel_memory;
    SessionData data{plan};
    Speculations speculations;
    Batches batches;
    bool exiting = false;                                   // exit() was called, or the session ends for another reason
    bool interrupted = false;                               // it ends because it was told to: by a signal or -T
    bool aborted = false;                                   // abort(): no end probes
    bool failed = false;                                    // more soft errors than allowed
    Accounting accounting;                                  // what was lost
    JsonLines json_lines{plan, data.symbols, data.numbers}; // --format=json
    SessionGroups groups{plan};                             // what its handlers know of control groups
    TargetFiles target_files;                               // what the target runs and loads
    std::string target_program;                             // that -c or -x begins with; empty: not known
    std::map<std::string, uint64_t> probed;                 // probed_inodes(), when the probes were armed
    bool exited = false;                                    // the script ended the session
    const plan::Probe* running = nullptr;                   // the host handler that runs
    std::unique_ptr<Interrupter> interrupter;               // null: no probes have run yet
    std::vector<size_t> pictured;                           // the globals that pictures are made of at the end
    std::vector<PictureRequest> drawn;                      // and which pictures
    std::map<size_t, std::unique_ptr<ProfilePusher>> profile_pushers; // by the index in `drawn`: --pprof-interval
    std::optional<FoldedWeights> flame_base;                          // SessionOptions::flame_base
    std::vector<std::unique_ptr<Timeline>> timelines;
    std::unique_ptr<CallSpans> spans; // --otlp-only=traces; null: without
    std::vector<Heatmap> heatmaps;
    std::vector<std::string> heatmap_files; // of each
    bool error_counted_in_kernel = false;   // while records from the ring are handled: their errors are counted already

    bool is_json() const { return options.output.format == OutputFormat::Json; }
    // Whether what others say is printed for a terminal.
    bool escapes() const { return output.is_terminal() && !options.raw; }

    // A frame for one handler run, zeroed; recursive functions take more after it. Null: no room.
    char* push_frame(uint64_t size);
    void pop_frame(char* frame);

    // A record from a handler, of either place.
    void handle_record(const uint8_t* record, size_t size);
    void run_host_handler(const plan::Probe& probe);
    // From here to release_error() an error of a host handler waits: the first of them is reported there, and counts
    // once.
    void hold_errors() { holds_errors_ = true; }
    void release_error();

    // `$value` in the handler of a control file that runs.
    std::string file_value;
    uint64_t file_limit = 0; // bytes that it may have

    struct Iterator {
        const plan::Global* global;
        std::vector<ArrayElement> elements;
        size_t next = 0, end = 0;
    };
    uint64_t nesting = 0;          // activations of functions that call themselves
    std::list<Iterator> iterators; // freed with the handler that began them

    // At the end: globals that nobody read; with -t the hits of each point; what was lost, and times.
    void print_globals();
    // Errors: an array that is not there; a file that cannot be read or written.
    Result<void> find_pictures();
    Result<void> draw_pictures(const std::function<bool()>& hurry);
    Result<void> finish_timelines(); // after count_losses()
    // Each turn: the clock may have been set.
    void follow_clock();
    // While it runs: nanoseconds until a picture wants to be looked after, `most` at most; and what there is to do
    // then. `at_once`: what they are made of may change.
    int64_t until_pictures(int64_t now, int64_t most) const;
    void look_after_pictures(int64_t now, bool at_once = false);
    void print_hits();
    void count_losses();
    void say_unhit();
    void report();

  private:
    void handle_speculation(uint32_t type, std::span<const uint8_t> payload);
    void write_to_kernel(const Result<Fd>& file, const char* name, const std::string& text);
    void suppress_error(const plan::RecordHeader& header, const std::string& text);
    void report_error(const plan::RecordHeader& header, std::span<const uint8_t> payload);
    struct HeldError {
        std::string text;
        bool is_counted; // by the kernel, where the handler ran
    };
    void fail(const HeldError& error);
    void print_global(const plan::Global& global, size_t index);
    Result<void> draw_heatmaps();
    char* stack_ = nullptr;
    size_t stack_size_ = 0, stack_top_ = 0;
    bool warned_of_kernel_ = false; // what it does not let be written
    bool holds_errors_ = false;
    std::optional<HeldError> held_error_;
    std::set<std::string> told_help_; // how to go on after errors
};

} // namespace sonde
