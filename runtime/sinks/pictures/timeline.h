// --timeline: what happened when, by thread, as a trace that Perfetto shows or as a picture (TimelineFile).
//
// The script stays as it is. Its handlers in the kernel begin with a record that says which probe was hit, when, and by
// which thread (Plan::tells_hits); what it prints says so too. A function that is probed at its entry and at its return
// becomes slices, one for each call; a probe without its counterpart an instant, and so does what is printed. Numbers
// in globals become counters, looked at while the session runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/pictures/timeline_file.h"
#include "runtime/values/calls.h"

namespace sonde {

class Symbols;

class Timeline {
  public:
    // Errors: the file cannot be written; the plan has nothing that a timeline could show.
    static Result<std::unique_ptr<Timeline>> start(const plan::Plan& plan, const std::string& file);

    // A Print record: of a hit, or of what was printed.
    void add(const plan::RecordHeader& header, std::span<const uint8_t> payload, Symbols& symbols);
    // Nanoseconds from now (now_ns()) until the counters want to be looked at.
    int64_t until_sample(int64_t now) const;
    // Looks at them if it is time. `data`: the data area.
    void sample(int64_t now, const char* data);
    // The last values, and how many records were lost. Errors: the file could not be written.
    Result<void> finish(const char* data, uint64_t lost);

  private:
    struct Counter {
        const plan::Global* global;
        uint64_t track;
        int64_t last;
        bool told;
    };
    struct Thread {
        uint64_t track = 0;
        std::string name;
        int64_t last = 0;           // time of its last event
        std::vector<uint32_t> open; // functions that are being called, the outermost first
        bool is_waiting = false;    // the innermost one is a time off the processor
    };
    Timeline(const plan::Plan& plan, std::unique_ptr<TimelineFile> file);
    Thread& thread_of(const HitTask& task);
    uint64_t process_track(const HitTask& task);
    void hit(Thread& thread, const HitRow& row, int64_t time);
    void count(Counter& counter, int64_t time, const char* data);

    const plan::Plan& plan_;
    const std::unique_ptr<TimelineFile> file_;
    int64_t sampled_ = 0, wrote_ = 0;
    const std::vector<HitRow> rows_;
    std::vector<Counter> counters_;
    std::map<int64_t, std::pair<uint64_t, std::string>> processes_; // track and name
    ProcessNames process_names_;
    std::map<ThreadKey, Thread> threads_;
    Thread session_; // its own handlers
    uint64_t next_track_ = 1;
};

} // namespace sonde
