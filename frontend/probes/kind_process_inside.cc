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

// A call of a function at `returns`, by a function that `callers` call.
void add_caller(DwarfModule& module, Address returns, const std::vector<Caller>& callers, std::vector<Caller>& out) {
    // The call itself belongs to the function for sure; it may be its last instruction.
    std::optional<FrameRule> frame = module.frame_rule(returns - 1);
    for (Caller& same : out)
        if (frame && same.frame == *frame) {
            same.return_addresses.push_back(returns);
            return;
        }
    out.push_back({{returns}, frame.value_or(FrameRule()), frame ? callers : std::vector<Caller>()});
}

// The callees of `function` down to `depth`, where `function` is called by one of `callers`.
void add_callees(const ProcessTarget& target, const ProcessPattern& pattern, const FunctionInstance& function,
                 const std::vector<Caller>& callers, int depth, std::vector<ResolvedPoint>& points,
                 std::vector<std::string>& seen) {
    struct Callee {
        FunctionInstance function;
        std::vector<Caller> callers;
    };
    std::map<std::pair<Address, std::string>, Callee> callees;
    for (CallSite& call : target.module->calls(function)) {
        seen.push_back(call.callee.name);
        Callee& callee = callees[{call.callee.entry, call.callee.name}];
        callee.function = std::move(call.callee);
        if (call.return_address == 0)
            callee.callers = callers; // an inlined copy has its caller's frame
        else
            add_caller(*target.module, call.return_address, callers, callee.callers);
    }
    for (const auto& [key, callee] : callees) {
        bool inlined = callee.function.inlined;
        if (glob_match(pattern.name, callee.function.name) && !(inlined && !pattern.suffix.empty())) {
            std::string text =
                fmt::format("{}.callee({})", function_text(target, function),
                            quoted(place_text(callee.function.name, callee.function.file, callee.function.line)));
            Result<std::vector<ResolvedPoint>> places = function_points(target, callee.function, text, pattern.suffix);
            for (ResolvedPoint& point : places ? *places : std::vector<ResolvedPoint>()) {
                point.callers = callee.callers;
                points.push_back(std::move(point));
            }
        }
        // A function that calls itself is its own callee once.
        if (depth > 1 && callee.function.entry != function.entry)
            add_callees(target, pattern, callee.function, callee.callers, depth - 1, points, seen);
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
            add_callees(target, pattern, function, {}, pattern.depth, points, seen);
    // The same call can be found on several ways.
    std::vector<ResolvedPoint> out;
    for (ResolvedPoint& point : points) {
        auto same = std::find_if(out.begin(), out.end(), [&](const ResolvedPoint& other) {
            return other.point.pp == point.point.pp && other.address == point.address;
        });
        if (same == out.end())
            out.push_back(std::move(point));
        else
            same->callers.insert(same->callers.end(), point.callers.begin(), point.callers.end());
    }
    return out;
}

} // namespace sonde
