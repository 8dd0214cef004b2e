// --timeline: shows events over time, by thread, as a trace for Perfetto or as a picture (TimelineFile).
//
// The script does not change. With this option, its handlers in the kernel start with a record that has the probe, the
// time and the thread (Plan::tells_hits). Prints have the same data.
//
// * A function with probes at entry and return becomes a slice for each call.
// * Any other hit, and any print, becomes an instant.
// * Numbers in globals become counters, sampled while the session runs.
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

struct SessionData;

class Timeline {
  public:
    // Fails if the file cannot be written, or if the plan has nothing to show on a timeline. `data` must outlive the
    // timeline.
    static Result<std::unique_ptr<Timeline>> start(SessionData& data, const std::string& file);

    // Processes a Print record, either of a hit or of printed values.
    void add(const plan::RecordHeader& header, std::span<const uint8_t> payload);
    // Returns the nanoseconds from `now` (now_ns()) until the next sample of the counters.
    int64_t until_sample(int64_t now) const;
    // Samples the counters if it is time.
    void sample(int64_t now);
    // Writes the final values and the number of lost records, and closes the file. Fails if the file could not be
    // written.
    Result<void> finish(uint64_t lost);

  private:
    // A global with a number. `told` is false until its value was written once.
    struct Counter {
        const plan::Global* global;
        uint64_t track;
        int64_t last;
        bool told;
    };
    // A thread, with the calls that are open.
    struct Thread {
        uint64_t track = 0;
        std::string name;
        int64_t last = 0;           // time of its last event
        std::vector<uint32_t> open; // functions of open calls, the outermost first
        bool is_waiting = false;    // the innermost call is a time off the processor
    };
    Timeline(SessionData& data, std::unique_ptr<TimelineFile> file);
    // Return a thread, and the track of a process. Declare them on first use.
    Thread& thread_of(const HitTask& task);
    uint64_t process_track(const HitTask& task);
    // Writes a hit as the begin or end of a slice, or as an instant.
    void hit(Thread& thread, const HitRow& row, int64_t time);
    // Writes the value of a counter, if it has changed.
    void count(Counter& counter, int64_t time);

    SessionData& data_;
    const plan::Plan& plan_;
    const std::unique_ptr<TimelineFile> file_;
    int64_t sampled_ = 0, wrote_ = 0;
    const std::vector<HitRow> rows_;
    std::vector<Counter> counters_;
    std::map<int64_t, std::pair<uint64_t, std::string>> processes_; // track and name, by process
    ProcessNames process_names_;
    std::map<ThreadKey, Thread> threads_;
    Thread session_; // handlers of the session itself
    uint64_t next_track_ = 1;
};

} // namespace sonde
