// The report of option -t.
//
// Cycles are computed from nanoseconds, with the speed of the cycle counter (TSC) that was measured during the session.
// On current processors the counter has a constant rate, which differs from the clock rate of the cores.
#include "runtime/values/hit_report.h"
#include "runtime/plan/object_names.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "arch/host/cycle_counter.h"
#include "base/clock.h"
#include "runtime/plan/counts.h"

namespace sonde {
namespace {

// Runs that were not skipped. Only these have a duration.
uint64_t runs_of(const plan::ProbeTiming& timing) {
    return timing.outcomes[plan::Handled] + timing.outcomes[plan::OutputLost] + timing.outcomes[plan::Failed];
}

unsigned __int128 squares_of(const plan::ProbeTiming& timing) {
    return static_cast<unsigned __int128>(timing.squares_high) << 64 | timing.squares_low;
}

} // namespace

plan::ProbeTiming timing_of(const KernelObject& kernel, uint32_t row) {
    plan::ProbeTiming out{};
    return bpf_map_lookup_elem(kernel.map_fd(plan::maps::timing), &row, &out) == 0 ? out : plan::ProbeTiming{};
}

void add_timing(plan::ProbeTiming& sum, const plan::ProbeTiming& more) {
    sum.hits += more.hits;
    sum.total_ns += more.total_ns;
    const unsigned __int128 squares = squares_of(sum) + squares_of(more);
    sum.squares_low = static_cast<uint64_t>(squares);
    sum.squares_high = static_cast<uint64_t>(squares >> 64);
    sum.min_biased_ns = std::max(sum.min_biased_ns, more.min_biased_ns);
    sum.max_ns = std::max(sum.max_ns, more.max_ns);
    for (size_t i = 0; i < std::size(sum.outcomes); i++)
        sum.outcomes[i] += more.outcomes[i];
}

HitReport::HitReport() : began_cycles_(read_cycle_counter()), began_ns_(now_ns()) {}

double HitReport::cycles_per_ns() const {
    const uint64_t passed = static_cast<uint64_t>(std::max<int64_t>(1, now_ns() - began_ns_));
    return static_cast<double>(read_cycle_counter() - began_cycles_) / static_cast<double>(passed);
}

// The minimum is stored inverted, as in the kernel, so that 0 means "no value yet".
void HitReport::ran(const plan::Probe& probe, uint64_t ns) {
    Runs& runs = host_[&probe];
    runs.points.resize(std::max<size_t>(1, probe.points.size()));
    plan::ProbeTiming run{};
    run.hits = run.outcomes[plan::Handled] = 1;
    run.total_ns = run.max_ns = ns;
    const unsigned __int128 square = static_cast<unsigned __int128>(ns) * ns;
    run.squares_low = static_cast<uint64_t>(square);
    run.squares_high = static_cast<uint64_t>(square >> 64);
    run.min_biased_ns = ~ns;
    add_timing(runs.points[runs.count++ % runs.points.size()], run);
}

plan::ProbeTiming HitReport::timing_of(const plan::Probe& probe) const {
    plan::ProbeTiming out{};
    if (const auto runs = host_.find(&probe); runs != host_.end())
        for (const plan::ProbeTiming& point : runs->second.points)
            add_timing(out, point);
    return out;
}

// The variance is computed from the sum of squares. Rounding may make it slightly negative, hence the limit at 0.
std::string HitReport::text(const plan::Plan& plan, const KernelObject* kernel) const {
    std::string out = "----- probe hit report: \n";
    const double speed = cycles_per_ns();
    const auto cycles = [&](double ns) { return fmt::format("{:.0f}", std::floor(std::max(0.0, ns * speed))); };
    for (const plan::Probe& probe : plan.probes) {
        const auto runs = host_.find(&probe);
        for (size_t i = 0; i < probe.points.size(); i++) {
            const plan::Point& point = probe.points[i];
            plan::ProbeTiming timing{};
            if (runs != host_.end())
                timing = runs->second.points[i];
            else if (probe.in_kernel && kernel && plan.translate.keeps_times)
                timing = sonde::timing_of(*kernel, point.row);
            const uint64_t count = runs_of(timing);
            const double n = count ? static_cast<double>(count) : 1, mean = static_cast<double>(timing.total_ns) / n;
            const double variance = std::max(0.0, static_cast<double>(squares_of(timing)) / n - mean * mean);
            const uint64_t least = count ? ~timing.min_biased_ns : 0;
            out +=
                fmt::format("{}, ({}), hits: {}, cycles: {}min/{}avg/{}max, variance: {}, from: {}, index: {}\n",
                            point.pp, probe.place, timing.hits, cycles(static_cast<double>(least)), cycles(mean),
                            cycles(static_cast<double>(timing.max_ns)), cycles(variance * speed), point.pn, point.row);
        }
    }
    return out;
}

} // namespace sonde
