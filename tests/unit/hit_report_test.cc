// The report of option -t.
#include <gtest/gtest.h>

#include <string>

#include "runtime/values/hit_report.h"

namespace sonde {
namespace {

TEST(HitReport, SquaresOfLongRunsDoNotOverflow) {
    plan::Plan plan;
    plan::Probe& probe = plan.probes.emplace_back();
    probe.points.emplace_back().pp = "begin";
    HitReport report;
    // The squares of 10 seconds have 67 bits each. All runs are the same, so there is no variance.
    for (int i = 0; i < 3; i++)
        report.ran(probe, 10'000'000'000);
    EXPECT_NE(report.text(plan, nullptr).find("variance: 0,"), std::string::npos) << report.text(plan, nullptr);
    // 10 and 30 seconds: the variance is 7.5e19 square nanoseconds, more than 64 bits can hold. The report has cycles,
    // of which each machine makes another number: the longest run squared is 12 times the variance.
    report.ran(probe, 30'000'000'000);
    const std::string text = report.text(plan, nullptr);
    const size_t at = text.find("variance: "), longest = text.find("avg/");
    ASSERT_NE(at, std::string::npos);
    ASSERT_NE(longest, std::string::npos);
    const double most = std::stod(text.substr(longest + 4));
    EXPECT_NEAR(std::stod(text.substr(at + 10)) / (most * most), 1 / 12.0, 1e-6) << text;
    EXPECT_EQ(report.timing_of(probe).squares_high, 65u); // 12e20 / 2^64
}

} // namespace
} // namespace sonde
