// timer.s(N) and the other units, timer.hz(N), timer.jiffies(N); .randomize(M) in the same unit.
#include <fmt/format.h>

#include "frontend/probes/kinds.h"

namespace sonde {
namespace {

constexpr int64_t second_ns = 1'000'000'000;
// The kernel's own tick is not known to programs; most distributions build with this one.
constexpr int64_t jiffies_per_second = 250;

struct Unit {
    const char* name;
    int64_t ns;
};
constexpr Unit units[] = {
    {"s", second_ns},    {"sec", second_ns}, {"ms", 1'000'000},
    {"msec", 1'000'000}, {"us", 1'000},      {"usec", 1'000},
    {"ns", 1},           {"nsec", 1},        {"jiffies", second_ns / jiffies_per_second},
};

void report_number(Resolving& resolving, const ast::PointComponent& component, const std::string& message) {
    resolving.diags.report(DiagId::BadNumber, component.arg_range, message);
}

} // namespace

std::vector<ResolvedPoint> resolve_timer(Resolving& resolving) {
    std::vector<std::string> names;
    for (const Unit& unit : units)
        names.push_back(unit.name);
    names.push_back("hz");
    if (!expect_argument(resolving, resolving.components()[0], ast::PointComponent::None))
        return {};
    const ast::PointComponent* rate = resolving.at(1);
    const Unit* unit = nullptr;
    for (const Unit& candidate : units)
        if (rate && rate->name == candidate.name)
            unit = &candidate;
    bool hz = rate && rate->name == "hz";
    if (!unit && !hz) {
        report_component(resolving, 1, names, {"profile"});
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
            report_number(resolving, *rate, "`timer.hz` goes up to 1000000000");
            return {};
        }
        if (const ast::PointComponent* more = resolving.at(2); more && more->name == "randomize") {
            resolving.diags.report(DiagId::UnknownProbePoint, more->range, "`timer.hz` cannot be randomized")
                .help("give the interval: `timer.ms(N).randomize(M)`");
            return {};
        }
        if (!expect_end(resolving, 2))
            return {};
        resolved.timer.interval_ns = static_cast<uint64_t>(second_ns / rate->number);
        return {resolved};
    }

    if (rate->number > INT64_MAX / unit->ns) {
        report_number(resolving, *rate, "the interval is too long");
        return {};
    }
    resolved.timer.interval_ns = static_cast<uint64_t>(rate->number * unit->ns);
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
    resolved.timer.random_ns = static_cast<uint64_t>(randomize->number * unit->ns);
    return {resolved};
}

} // namespace sonde
