#include "frontend/probes/point_claims.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"

namespace sonde {

bool PointClaims::take_counter(const ResolvedPoint& point, const ast::ProbePoint& written, Diagnostics& diags) {
    constexpr size_t most = 16; // codegen/rtlib/counters.h
    const Range range = written.components.back().arg_range;
    if (std::ranges::find(counters_, point.counter, &plan::Counter::name) != counters_.end()) {
        diags.report(DiagId::Redefinition, range, fmt::format("the script already has a counter `{}`", point.counter));
        return false;
    }
    if (counters_.size() == most) {
        diags.report(DiagId::Unsupported, range, fmt::format("a script can have at most {} counters", most));
        return false;
    }
    counters_.push_back({point.counter, point.point.perf});
    return true;
}

bool PointClaims::take_file(const ResolvedPoint& point, const ast::ProbePoint& written, Diagnostics& diags) {
    const auto [other, is_first] = read_files_.try_emplace(point.point.path, written.range);
    if (!is_first)
        diags
            .report(DiagId::Redefinition, written.range,
                    fmt::format("the control file `{}` already has a handler for reading", point.point.path))
            .note(other->second, "the first one is here")
            .help("a reader receives one text");
    return is_first;
}

// Kernel memory is watched in all processes, so it takes a register in each of them.
bool PointClaims::take_register(const ResolvedPoint& point, const ast::ProbePoint& written, bool listing,
                                Diagnostics& diags) {
    constexpr size_t debug_registers = 4;
    const std::string& owner = point.point.path;
    const auto shares = [&](const auto& other) { return other.first == owner || other.first.empty() || owner.empty(); };
    watchpoints_.emplace_back(owner, written.range);
    if (listing || static_cast<size_t>(std::ranges::count_if(watchpoints_, shares)) <= debug_registers)
        return true;
    const auto data = std::ranges::find(written.components, "data", &ast::PointComponent::name);
    diags
        .report(DiagId::Unsupported, data == written.components.end() ? written.range : data->range,
                fmt::format("this is watchpoint number {}, and the processor has {} debug registers",
                            debug_registers + 1, debug_registers))
        .note(watchpoints_[0].second, "the first one is here");
    return false;
}

bool PointClaims::take(const std::vector<ResolvedPoint>& points, const ast::ProbePoint& written, bool listing,
                       Diagnostics& diags) {
    return std::ranges::all_of(points, [&](const ResolvedPoint& point) {
        return (point.counter.empty() || take_counter(point, written, diags)) &&
               (point.kind != plan::ProbeKind::FileRead || take_file(point, written, diags)) &&
               (point.kind != plan::ProbeKind::Watch || take_register(point, written, listing, diags));
    });
}

} // namespace sonde
