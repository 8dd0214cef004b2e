// Late runs of timers are repeated or counted.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "runtime/engine/timers.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

constexpr int64_t ms = 1'000'000;

class TimersTest : public testing::Test {
  protected:
    TimersTest() {
        plan::Probe probe;
        probe.kind = plan::ProbeKind::Timer;
        probe.timer.interval_ns = ms;
        plan_.probes.push_back(probe);
    }
    plan::Plan plan_;
};

TEST_F(TimersTest, LateRunsAreMadeUpFor) {
    Timers timers(plan_);
    const int64_t began = now_ns();
    timers.start(now_ns());
    EXPECT_TRUE(timers.take_due(began).empty());
    uint64_t runs = 0; // 50 ms late: the schedule stays
    while (!timers.take_due(began + 50 * ms + ms / 2).empty())
        runs++;
    EXPECT_EQ(runs, 50);
    EXPECT_TRUE(timers.dropped().empty());
}

TEST_F(TimersTest, NoneIsLostWithoutACount) {
    for (const int64_t step : {ms / 10, ms, 3 * ms, 20 * ms, 150 * ms, 700 * ms}) {
        Timers timers(plan_);
        constexpr int64_t end = 2100 * ms; // a multiple of all
        const int64_t before = now_ns();
        timers.start(now_ns());
        const int64_t began = now_ns(); // the timer's own begin is between the two
        uint64_t ran = 0;               // if the session checks at intervals of `step`
        for (int64_t at = 0; at <= end; at += step)
            ran += timers.take_due(began + at).size();
        timers.end(began + end);
        const uint64_t dropped = timers.dropped()[&plan_.probes[0]];
        EXPECT_GE(ran + dropped, 2100) << step;
        EXPECT_LE(ran + dropped, 2100 + static_cast<uint64_t>((began - before) / ms) + 1) << step;
        EXPECT_EQ(dropped > 200, step > ms) << step; // each look runs one
    }
}

TEST_F(TimersTest, SlowTimersDropWholeIntervals) {
    plan_.probes[0].timer.interval_ns = 1000 * ms;
    Timers timers(plan_);
    const int64_t began = now_ns();
    timers.start(now_ns());
    uint64_t runs = 0;
    while (!timers.take_due(began + 10'500 * ms).empty())
        runs++;
    EXPECT_EQ(runs + timers.dropped()[&plan_.probes[0]], 10);
    EXPECT_LE(runs, 3);
}

// A random interval may be nearly 0. The runs that are missing are those of the mean.
TEST_F(TimersTest, RandomTimersDropByTheirMeanInterval) {
    plan_.probes[0].timer.interval_ns = 50 * ms;
    plan_.probes[0].timer.random_ns = 50 * ms;
    for (int round = 0; round < 1000; round++) {
        Timers timers(plan_);
        const int64_t began = now_ns();
        timers.start(now_ns());
        timers.take_due(began + 400 * ms); // 300 to 400 ms late, less than few_runs intervals
        EXPECT_TRUE(timers.dropped().empty());
        timers.take_due(began + 5400 * ms);
        EXPECT_GE(timers.dropped()[&plan_.probes[0]], 101); // 5400 ms less three random intervals
        EXPECT_LE(timers.dropped()[&plan_.probes[0]], 108);
    }
}

} // namespace
} // namespace sonde
