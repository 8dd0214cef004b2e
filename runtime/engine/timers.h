// Timers that the session runs itself: timer.ms(N) and its relatives.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "runtime/plan/plan.h"

namespace sonde {

class Timers {
  public:
    // Runs that a timer makes up for, however far apart they are.
    static constexpr int few_runs = 10;

    explicit Timers(const plan::Plan& plan);
    // Their intervals begin.
    void start();
    // Nanoseconds until the next one; `most` if there is none before.
    int64_t until_next(int64_t most) const;
    // The timers that are due, the latest first, each once: a handler that takes longer than its interval leaves time
    // for the rest of the session. A timer that is late keeps its schedule and makes up for missed runs, as long as it
    // is at most `most_behind()` behind. It drops older runs and counts them.
    std::vector<const plan::Probe*> take_due(int64_t now);
    // The timers do not run any more: all runs that were due at `now` are dropped and counted.
    void end(int64_t now);
    // The runs that were dropped, by probe.
    std::map<const plan::Probe*, uint64_t> dropped() const;

  private:
    // Nanoseconds: 100 ms, `few_runs` intervals of up to 2 s together, or one interval, whichever is most.
    static int64_t most_behind(int64_t interval);
    struct Timer {
        const plan::Probe* probe;
        int64_t next; // now_ns()
        uint64_t dropped = 0;
    };
    void schedule(Timer& timer, int64_t now);
    // Nanoseconds; with `.randomize`, another one each time.
    int64_t interval(const plan::Probe& probe);

    std::vector<Timer> timers_;
    std::mt19937_64 random_{std::random_device{}()};
};

} // namespace sonde
