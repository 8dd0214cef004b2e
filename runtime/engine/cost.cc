#include "runtime/engine/cost.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "runtime/engine/overload.h"
#include "runtime/plan/kinds.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// "3,214"
std::string with_commas(uint64_t number) {
    std::string out = std::to_string(number);
    for (size_t at = out.size(); at > 3; at -= 3)
        out.insert(at - 3, ",");
    return out;
}

// "7 ms": at most three digits.
std::string short_time(double ns) {
    const char* unit = "ns";
    for (const char* larger : {"us", "ms", "s"})
        if (ns >= 999.5) {
            ns /= 1000;
            unit = larger;
        }
    return fmt::format("{:.{}f} {}", ns, ns >= 99.5 ? 0 : ns >= 9.95 ? 1 : 2, unit);
}

// "0.03", "2.5" or "140": two digits, or more before the point.
std::string percents(double part, double whole) {
    const double number = 100 * part / whole;
    return fmt::format("{:.{}f}", number, number >= 9.95 ? 0 : number >= 0.995 ? 1 : 2);
}

} // namespace

void say_cost(const Session& session, int64_t ns) {
    if (!session.data.kernel || !session.plan.translate.keeps_times || ns <= 0)
        return;
    uint64_t hits = 0;
    double handlers = 0, breakpoints = 0;
    bool is_measured = true;
    for (const plan::Probe& probe : session.plan.probes) {
        if (!probe.in_kernel || !plan::is_event(probe.kind))
            continue;
        plan::ProbeTiming timing{};
        for (const plan::Point& point : probe.points)
            add_timing(timing, timing_of(*session.data.kernel, point.row));
        if (timing.hits == 0)
            continue;
        hits += timing.hits;
        handlers += static_cast<double>(timing.total_ns);
        const std::optional<double> breakpoint = measure_breakpoints(probe);
        is_measured = is_measured && breakpoint;
        breakpoints += breakpoint.value_or(0) * static_cast<double>(timing.hits);
    }
    if (hits == 0)
        return;
    const double each = 1 / static_cast<double>(hits), all = handlers + breakpoints;
    say(fmt::format("{} hit{} took {} {} of the program's time, {} % of {}: {} each for the handler, {}",
                    with_commas(hits), hits == 1 ? "" : "s", is_measured ? "about" : "at least", short_time(all),
                    percents(all, static_cast<double>(ns)), short_time(static_cast<double>(ns)),
                    short_time(handlers * each),
                    is_measured ? fmt::format("{} for the breakpoint", short_time(breakpoints * each))
                                : "and the time of the breakpoint, which was not measured"));
}

} // namespace sonde
