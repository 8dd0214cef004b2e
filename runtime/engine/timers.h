// Timers of the session, for timer.ms(N) and similar probes.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "runtime/plan/plan.h"

namespace sonde {

// The timers of a plan. `plan` must outlive the object.
class Timers {
  public:
    // A late timer makes up for this many runs, whatever its interval.
    static constexpr int few_runs = 10;

    explicit Timers(const plan::Plan& plan);
    // Starts the first interval of all timers. `now` is in the clock of all functions: now_ns(), or that of a
    // recording.
    void start(int64_t now);
    // Returns when the next timer is due; INT64_MAX: there is no timer.
    int64_t next() const;
    // Returns the nanoseconds from now_ns() until the next timer is due, at most `most`.
    int64_t until_next(int64_t most) const;
    // Returns the timers that are due at `now`, the one that is most overdue first. Each occurs once, so a handler that
    // takes longer than its interval leaves time for the rest of the session. A late timer keeps its schedule and makes
    // up for missed runs, if it is late by at most most_behind(). Runs that are older are dropped and counted.
    std::vector<const plan::Probe*> take_due(int64_t now);
    // Stops the timers. Runs that were due at `now` are dropped and counted.
    void end(int64_t now);
    // Returns the number of dropped runs by probe.
    std::map<const plan::Probe*, uint64_t> dropped() const;

  private:
    // Returns how late a timer may be, in nanoseconds. It is the greatest of three: 500 ms, one interval, and
    // `few_runs` intervals (limited to 2 s).
    static int64_t most_behind(int64_t interval);
    // No interval is shorter, in nanoseconds, so that a timer cannot occupy the session completely.
    static constexpr int64_t shortest = 1000;
    struct Timer {
        const plan::Probe* probe;
        int64_t next; // now_ns()
        uint64_t dropped = 0;
    };
    // Sets the time of a timer's next run, and drops runs that are too late.
    void schedule(Timer& timer, int64_t now);
    // Returns the interval that the script states, in nanoseconds.
    static int64_t mean_interval(const plan::Probe& probe);
    // Returns the interval until the next run, in nanoseconds. With `.randomize`, each call returns another value.
    int64_t next_interval(const plan::Probe& probe);

    std::vector<Timer> timers_;
    std::mt19937_64 random_{std::random_device{}()};
};

} // namespace sonde
