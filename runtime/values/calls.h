// Finds pairs of probes that mark the begin and the end of a call. Timelines draw calls as slices, and --otlp sends
// them as spans.
//
// A call is the entry and the return of a function in one thread. In a plan it is a pair of probe points whose texts
// differ only in `.return`. A point without its counterpart is an instant. Other pairs work in the same way: the
// moments when a task leaves its processor and returns, the begin and the end of an interrupt, and marks of a program
// such as `query__start` and `query__done`.
//
// The calls of a thread nest. When a call returns, all calls inside it end too. They have no records of their own if a
// longjmp() or an exception passed them, or if records were lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/plan/kinds.h"
#include "runtime/plan/plan.h"

namespace sonde {

constexpr std::string_view return_suffix = ".return";

enum class HitRole : uint8_t { None, Begin, End, Instant };
// The meaning of a hit, for one of Plan::rows. Role None: another probe at the same place already reports this event.
struct HitRow {
    HitRole role = HitRole::None; // no meaning: see above
    bool is_return = false;
    bool is_wait = false;  // between Begin and End the thread was off its processor
    uint32_t function = 0; // equal for all rows of one function; of Instant: 0
    std::string name;
};
// Returns one HitRow for each of Plan::rows. Rows of probes that do not report hits keep the role None.
std::vector<HitRow> find_hit_rows(const plan::Plan& plan);
// True if the probe reports each of its hits, in a plan with Plan::tells_hits.
inline bool tells_hits(const plan::Probe& probe) { return probe.in_kernel && plan::tells_hits(probe.kind); }

// The task that hit a probe or printed a text, and the time. A member that the record lacks is 0 or empty.
struct HitTask {
    int64_t time_ns = 0; // since 1970
    int64_t pid = 0, tid = 0;
    std::string name;

    bool is_session() const { return is_zero() && name.empty(); } // a handler of the session itself, such as begin
    bool is_idle() const { return is_zero() && !name.empty(); }   // the idle task of a processor
    bool is_zero() const { return pid == 0 && tid == 0; }
};
// Identifies a thread. The idle tasks of all processors have the number 0, so their names tell them apart.
using ThreadKey = std::tuple<int64_t, int64_t, std::string>;
inline ThreadKey key_of(const HitTask& task) { return {task.pid, task.tid, task.is_idle() ? task.name : ""}; }

// Reads the task and the time from a record's payload.
HitTask task_of(const plan::Format& format, std::span<const uint8_t> payload);

// Returns how many of a thread's open calls end when `function` returns, counted from the innermost. `open` has the
// outermost call first. Returns 0 if the function's entry was not seen.
template <typename Call, typename FunctionOf = std::identity>
size_t calls_that_end(const std::vector<Call>& open, uint32_t function, FunctionOf function_of = {}) {
    const auto begun = std::find_if(open.rbegin(), open.rend(),
                                    [&](const Call& call) { return std::invoke(function_of, call) == function; });
    return begun == open.rend() ? 0 : static_cast<size_t>(begun - open.rbegin()) + 1;
}

// Names of processes, from /proc/PID/comm. The name in a record is that of a thread, and threads may rename themselves.
class ProcessNames {
  public:
    const std::string& of(const HitTask& task);
    void forget(int64_t pid) { names_.erase(pid); }

  private:
    std::map<int64_t, std::string> names_;
};

} // namespace sonde
