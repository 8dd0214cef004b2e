// process("P").function("f").label("l"), .callee("g") and .callees(N): places inside of functions.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/probes/kind_process.h"

namespace sonde {
namespace {

void add_labels(const ProcessTarget& target, const ProcessPattern& pattern, const FunctionInstance& function,
                std::vector<ResolvedPoint>& points, std::vector<std::string>& seen) {
    for (const Label& label : target.module->labels(function)) {
        seen.push_back(label.name);
        std::optional<ResolvedPoint> point = point_in(target, function, label.address);
        if (!point || !glob_match(pattern.name, label.name))
            continue;
        point->point.pp = fmt::format("{}.label({})", function_text(target, function), quoted(label.name));
        points.push_back(*std::move(point));
    }
}

// The callees of `function` down to `depth`.
void add_callees(const ProcessTarget& target, const ProcessPattern& pattern, const FunctionInstance& function,
                 int depth, std::vector<ResolvedPoint>& points, std::vector<std::string>& seen) {
    struct Callee {
        FunctionInstance function;
        std::vector<Address> callers;
    };
    std::map<std::pair<Address, std::string>, Callee> callees;
    for (CallSite& call : target.module->calls(function)) {
        seen.push_back(call.callee.name);
        Callee& callee = callees[{call.callee.entry, call.callee.name}];
        callee.function = std::move(call.callee);
        if (call.return_address != 0)
            callee.callers.push_back(call.return_address);
    }
    for (const auto& [key, callee] : callees) {
        bool inlined = callee.function.inlined;
        if (glob_match(pattern.name, callee.function.name) && !(inlined && !pattern.suffix.empty())) {
            std::string text =
                fmt::format("{}.callee({})", function_text(target, function),
                            quoted(place_text(callee.function.name, callee.function.file, callee.function.line)));
            if (std::optional<ResolvedPoint> point = function_point(target, callee.function, text, pattern.suffix)) {
                point->callers = callee.callers;
                points.push_back(*std::move(point));
            }
        }
        // A function that calls itself is its own callee once.
        if (depth > 1 && callee.function.entry != function.entry)
            add_callees(target, pattern, callee.function, depth - 1, points, seen);
    }
}

} // namespace

std::vector<ResolvedPoint> places_inside(const ProcessTarget& target, const ProcessPattern& pattern,
                                         const std::vector<FunctionInstance>& functions,
                                         std::vector<std::string>& seen) {
    std::vector<ResolvedPoint> points;
    for (const FunctionInstance& function : functions)
        if (pattern.inside->name == "label")
            add_labels(target, pattern, function, points, seen);
        else
            add_callees(target, pattern, function, pattern.depth, points, seen);
    // Through different callers one call can be found twice.
    std::vector<ResolvedPoint> out;
    for (ResolvedPoint& point : points)
        if (std::none_of(out.begin(), out.end(), [&](const ResolvedPoint& other) {
                return other.point.pp == point.point.pp && other.address == point.address;
            }))
            out.push_back(std::move(point));
    return out;
}

} // namespace sonde
