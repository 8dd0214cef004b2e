// Timers that the session runs itself: timer.ms(N) and its relatives.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "runtime/plan.h"

namespace sonde {

class Timers {
  public:
    explicit Timers(const plan::Plan& plan);
    // Their intervals begin.
    void start();
    // Nanoseconds until the next one; `most` if there is none before.
    int64_t until_next(int64_t most) const;
    // The timers that are due, the latest first, each once: a handler that takes longer than its interval leaves time
    // for the rest of the session. They are set for their next time; missed times are not made up for.
    std::vector<const plan::Probe*> take_due();

  private:
    struct Timer {
        const plan::Probe* probe;
        int64_t next; // now_ns()
    };
    // Nanoseconds; with `.randomize`, another one each time.
    int64_t interval(const plan::Probe& probe);

    std::vector<Timer> timers_;
    std::mt19937_64 random_{std::random_device{}()};
};

} // namespace sonde
