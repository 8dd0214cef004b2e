// Calls, as the records of hits tell them (Plan::tells_hits): timelines make slices of them, --otlp spans.
//
// A call is a function's entry and its return in one thread. Both are hits of probes, at points whose texts differ in
// `.return` only; a point without its counterpart is a moment. What else has a begin and an end in one thread is told
// in the same way: a task's time off its processor, an interrupt, a program's marks that are named so. A thread's calls
// nest: one that returns ends those further inside, whose returns were passed by a longjmp() or an exception, or whose
// records were lost.
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

#include "runtime/plan/plan.h"

namespace sonde {

constexpr std::string_view return_suffix = ".return";

enum class HitRole : uint8_t { None, Begin, End, Instant };
// What a hit of one of Plan::rows is.
struct HitRow {
    HitRole role = HitRole::None; // None: it says again what another row of the same place says
    bool is_return = false;
    bool is_wait = false;  // between Begin and End the thread was off its processor
    uint32_t function = 0; // of Begin, End and of None beside them: the same number for all
    std::string name;
};
std::vector<HitRow> find_hit_rows(const plan::Plan& plan);
// Whether the probe says each of its hits, if the plan tells them.
inline bool tells_hits(const plan::Probe& probe) { return probe.in_kernel && plan::tells_hits(probe.kind); }

// Who hit it, or printed, and when; what the record does not tell is 0.
struct HitTask {
    int64_t time_ns = 0; // since 1970
    int64_t pid = 0, tid = 0;
    std::string name;

    bool is_session() const { return is_zero() && name.empty(); } // a handler of the session's own
    bool is_idle() const { return is_zero() && !name.empty(); }   // a processor's task that has nothing to do
    bool is_zero() const { return pid == 0 && tid == 0; }
};
// What tells one thread from another: the idle tasks of all processors have the number 0.
using ThreadKey = std::tuple<int64_t, int64_t, std::string>;
inline ThreadKey key_of(const HitTask& task) { return {task.pid, task.tid, task.is_idle() ? task.name : ""}; }

HitTask task_of(const plan::Format& format, std::span<const uint8_t> payload);

// How many of a thread's calls, the outermost first, end where `function` returns. 0: its entry was not seen.
template <typename Call, typename FunctionOf = std::identity>
size_t calls_that_end(const std::vector<Call>& open, uint32_t function, FunctionOf function_of = {}) {
    const auto begun = std::find_if(open.rbegin(), open.rend(),
                                    [&](const Call& call) { return std::invoke(function_of, call) == function; });
    return begun == open.rend() ? 0 : static_cast<size_t>(begun - open.rbegin()) + 1;
}

// A process is called by what it runs, not by what its threads call themselves.
class ProcessNames {
  public:
    const std::string& of(const HitTask& task);
    void forget(int64_t pid) { names_.erase(pid); }

  private:
    std::map<int64_t, std::string> names_;
};

} // namespace sonde
