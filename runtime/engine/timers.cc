// An example of a late timer: an interval of 100 ms, and a handler that runs for 350 ms at time 100.
//
//     time    due     action
//     100     100     the handler runs until 450; next = 200
//     450     200     runs; next = 300     (250 ms late, makes up for the missed run)
//     451     300     runs; next = 400
//     452     400     runs; next = 500
//     500     500     runs on schedule
//
// The schedule is kept, so that counters per interval remain correct. But if a timer is late by more than
// most_behind(), it would only run to make up for the past. schedule() then drops the older runs and counts them.
#include "runtime/engine/timers.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "runtime/plan/kinds.h"

namespace sonde {

Timers::Timers(const plan::Plan& plan) {
    for (const plan::Probe& probe : plan.probes)
        if (plan::traits(probe.kind).cause == plan::Cause::Timer)
            timers_.push_back({&probe, 0, 0});
}

// One `now` for all, so timers with equal intervals stay in step.
void Timers::start(int64_t now) {
    for (Timer& timer : timers_)
        timer.next = now + next_interval(*timer.probe);
}

int64_t Timers::next() const {
    int64_t least = INT64_MAX;
    for (const Timer& timer : timers_)
        least = std::min(least, timer.next);
    return least;
}

int64_t Timers::until_next(int64_t most) const {
    int64_t least = most, now = now_ns();
    for (const Timer& timer : timers_)
        least = std::min(least, std::max<int64_t>(0, timer.next - now));
    return least;
}

std::vector<const plan::Probe*> Timers::take_due(int64_t now) {
    std::vector<std::pair<int64_t, const plan::Probe*>> due;
    for (Timer& timer : timers_) {
        if (timer.next > now)
            continue;
        due.emplace_back(timer.next, timer.probe);
        schedule(timer, now);
    }
    std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const plan::Probe*> out;
    for (const auto& [time, probe] : due)
        out.push_back(probe);
    return out;
}

int64_t Timers::most_behind(int64_t interval) {
    constexpr int64_t of_any = 500'000'000, of_slow = 2'000'000'000;
    return std::max({of_any, interval, std::min(few_runs * interval, of_slow)});
}

void Timers::schedule(Timer& timer, int64_t now) {
    timer.next += next_interval(*timer.probe);
    // One random interval may be a thousandth of the mean, and says nothing about how many runs are missing.
    const int64_t mean = mean_interval(*timer.probe), behind = now - timer.next;
    if (behind <= most_behind(mean))
        return;
    const int64_t runs = behind / mean;
    timer.dropped += static_cast<uint64_t>(runs);
    timer.next += runs * mean;
}

void Timers::end(int64_t now) {
    for (Timer& timer : timers_)
        if (timer.next <= now)
            timer.dropped += static_cast<uint64_t>(1 + (now - timer.next) / mean_interval(*timer.probe));
}

std::map<const plan::Probe*, uint64_t> Timers::dropped() const {
    std::map<const plan::Probe*, uint64_t> out;
    for (const Timer& timer : timers_)
        if (timer.dropped > 0)
            out[timer.probe] += timer.dropped;
    return out;
}

int64_t Timers::mean_interval(const plan::Probe& probe) {
    return std::max(static_cast<int64_t>(probe.timer.interval_ns), shortest);
}

int64_t Timers::next_interval(const plan::Probe& probe) {
    const auto spread = static_cast<int64_t>(probe.timer.random_ns);
    const int64_t difference = spread ? std::uniform_int_distribution<int64_t>(-spread, spread)(random_) : 0;
    return std::max(static_cast<int64_t>(probe.timer.interval_ns) + difference, shortest);
}

} // namespace sonde
