// Resolves timer.s(N) and the other units, timer.hz(N) and timer.jiffies(N), with an optional .randomize(M) in the same
// unit.
#include <time.h>

#include <fmt/format.h>

#include "frontend/probes/kinds.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

constexpr int64_t second_ns = 1'000'000'000;

// The resolution of the kernel's coarse clock is one tick (jiffy).
int64_t jiffy_ns() {
    timespec tick{};
    return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_nsec > 0 ? tick.tv_nsec : second_ns / 250;
}

// A unit and its length.
struct Unit {
    const char* name;
    int64_t ns; // 0: one tick of the kernel
};
constexpr Unit units[] = {
    {"s", second_ns}, {"sec", second_ns}, {"ms", 1'000'000}, {"msec", 1'000'000}, {"us", 1'000},
    {"usec", 1'000},  {"ns", 1},          {"nsec", 1},       {"jiffies", 0},
};

void report_number(Resolving& resolving, const ast::PointComponent& component, const std::string& message) {
    resolving.diags.report(DiagId::BadNumber, component.arg_range, message);
}

// Each timer runs separately, even if another one has the same interval.
Sharing runs_separately(const ResolvedPoint& resolved) { return {resolved.point.pp, resolved.point.pp}; }

// Resolves timer.profile, timer.profile.tick and timer.profile.hz(N) (also .freq(N) and .freq.hz(N)), which interrupt
// each processor.
std::vector<ResolvedPoint> resolve_profile(Resolving& resolving) {
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Profile;
    resolved.in_kernel = true;
    resolved.point.pp = point_text(resolving.point);
    if (!expect_argument(resolving, *resolving.at(1), ast::PointComponent::None))
        return {};
    const ast::PointComponent* rate = resolving.at(2);
    size_t end = 3;
    if (rate && (rate->name == "freq" || rate->name == "hz")) {
        const ast::PointComponent* hz = rate;
        if (rate->name == "freq" && rate->arg == ast::PointComponent::None) {
            hz = resolving.at(3);
            end = 4;
        }
        if (!hz || (hz != rate && hz->name != "hz")) {
            report_component(resolving, 3, {"hz"});
            return {};
        }
        if (!expect_argument(resolving, *hz, ast::PointComponent::Number))
            return {};
        constexpr int64_t most = 100'000;
        if (hz->number <= 0 || hz->number > most) {
            report_number(resolving, *hz, fmt::format("a profile's frequency must be from 1 to {}", most));
            return {};
        }
        resolved.timer.interval_ns = static_cast<uint64_t>(second_ns / hz->number);
        resolved.sharing = runs_separately(resolved);
    } else if (rate && rate->name != "tick") {
        report_component(resolving, 2, {"tick", "hz", "freq"});
        return {};
    }
    if (rate && !expect_end(resolving, end))
        return {};
    return {resolved};
}

} // namespace

// Checks the unit and the numbers, and converts the interval to nanoseconds.
std::vector<ResolvedPoint> resolve_timer(Resolving& resolving) {
    std::vector<std::string> names;
    for (const Unit& unit : units)
        names.push_back(unit.name);
    names.push_back("hz");
    names.push_back("profile");
    if (!expect_argument(resolving, resolving.components()[0], ast::PointComponent::None))
        return {};
    const ast::PointComponent* rate = resolving.at(1);
    if (rate && rate->name == "profile")
        return resolve_profile(resolving);
    const Unit* unit = nullptr;
    for (const Unit& candidate : units)
        if (rate && rate->name == candidate.name)
            unit = &candidate;
    bool hz = rate && rate->name == "hz";
    if (!unit && !hz) {
        report_component(resolving, 1, names);
        return {};
    }
    if (!expect_argument(resolving, *rate, ast::PointComponent::Number))
        return {};
    if (rate->number <= 0) {
        report_number(resolving, *rate, fmt::format("`timer.{}` needs a number above 0", rate->name));
        return {};
    }

    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Timer;
    resolved.point.pp = point_text(resolving.point);
    if (hz) {
        if (rate->number > second_ns) {
            report_number(resolving, *rate, "the frequency of `timer.hz` must be at most 1000000000");
            return {};
        }
        if (const ast::PointComponent* more = resolving.at(2); more && more->name == "randomize") {
            resolving.diags.report(DiagId::UnknownProbePoint, more->range, "`timer.hz` cannot be randomized")
                .help("write an interval instead: `timer.ms(N).randomize(M)`");
            return {};
        }
        if (!expect_end(resolving, 2))
            return {};
        resolved.timer.interval_ns = static_cast<uint64_t>(second_ns / rate->number);
        resolved.sharing = runs_separately(resolved);
        return {resolved};
    }

    // The division avoids an overflow of the product.
    int64_t unit_ns = unit->ns ? unit->ns : jiffy_ns();
    if (rate->number > INT64_MAX / unit_ns) {
        report_number(resolving, *rate, "the interval is too long");
        return {};
    }
    resolved.timer.interval_ns = static_cast<uint64_t>(rate->number * unit_ns);
    resolved.sharing = runs_separately(resolved);
    const ast::PointComponent* randomize = resolving.at(2);
    if (!randomize)
        return {resolved};
    if (randomize->name != "randomize") {
        report_component(resolving, 2, {"randomize"});
        return {};
    }
    if (!expect_argument(resolving, *randomize, ast::PointComponent::Number) || !expect_end(resolving, 3))
        return {};
    if (randomize->number < 0 || randomize->number > rate->number) {
        report_number(resolving, *randomize,
                      fmt::format("`randomize` needs a number from 0 to the interval, {}", rate->number));
        return {};
    }
    resolved.timer.random_ns = static_cast<uint64_t>(randomize->number * unit_ns);
    return {resolved};
}

} // namespace sonde
