// process("P").function("f").label("l"), .callee("g") and .callees(N): places inside of functions.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/probes/kind_process.h"

namespace sonde {
namespace {

bool is_chosen(const ProcessPattern& pattern, const FunctionInstance& function, const Label& label) {
    auto is_line = [&](const FunctionPattern& wanted) {
        switch (wanted.line_kind) {
        case FunctionPattern::Absolute:
            return label.line == wanted.line;
        case FunctionPattern::LineRange:
            return label.line >= wanted.line && label.line <= wanted.line_end;
        case FunctionPattern::Relative:
            return label.line == function.line + wanted.line;
        case FunctionPattern::None:
        case FunctionPattern::Wildcard:
            break;
        }
        return true;
    };
    return glob_match(pattern.name, label.name) &&
           (pattern.lines.empty() || std::any_of(pattern.lines.begin(), pattern.lines.end(), is_line));
}

void add_labels(const ProcessTarget& target, const ProcessPattern& pattern, const FunctionInstance& function,
                std::vector<ResolvedPoint>& points, std::vector<std::string>& seen) {
    for (const Label& label : target.module->labels(function)) {
        seen.push_back(label.name);
        std::optional<ResolvedPoint> point = point_in(target, function, label.address);
        if (!point || !is_chosen(pattern, function, label))
            continue;
        point->point.pp = fmt::format("{}.function({}).label({})", target.text,
                                      quoted(place_text(function.name, function.file, label.line)), quoted(label.name));
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

// Puts a function's probe where it is jumped to instead of being called: the return address is on top of the stack and
// the parameters are where the ABI passes them, as at the function's beginning. False: there is no such place.
bool move_to_jump(ResolvedPoint& point, Address jump) {
    std::optional<uint64_t> offset = point.module->file().file_offset(jump);
    if (!offset || point.at_return_instruction)
        return false;
    point.jump = jump;
    point.point.offset = *offset;
    if (point.is_return)
        point.point.entry_offset = *offset;
    point.address = point.entry_address = point.function.entry;
    point.at_call = point.function.body != point.function.entry;
    point.is_function = false; // it stays there
    return true;
}

// The callees of `function` down to `depth`, where `function` is called by one of `callers`, and `path` are those that
// are called already.
void add_callees(const ProcessTarget& target, const ProcessPattern& pattern, const FunctionInstance& function,
                 const std::vector<Caller>& callers, int depth, std::vector<DieOffset>& path,
                 std::vector<ResolvedPoint>& points, std::vector<std::string>& seen) {
    struct Callee {
        FunctionInstance function;
        std::vector<Caller> callers;
    };
    std::map<std::tuple<Address, std::string, std::optional<Address>>, Callee> callees;
    for (CallSite& call : target.module->calls(function)) {
        seen.push_back(call.callee.name);
        Callee& callee = callees[{call.callee.entry, call.callee.name, call.jump}];
        callee.function = std::move(call.callee);
        if (call.return_address == 0)
            callee.callers = callers; // an inlined copy has its caller's frame, and so has who is jumped to
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
                if (const std::optional<Address>& jump = std::get<2>(key); !jump || move_to_jump(point, *jump))
                    points.push_back(std::move(point));
            }
        }
        // A function that calls itself is its own callee once. A function that is jumped to
        // returns to its caller's caller: its own calls do not tell who jumped.
        if (depth > 1 && !std::get<2>(key) && std::find(path.begin(), path.end(), callee.function.die) == path.end()) {
            path.push_back(callee.function.die);
            add_callees(target, pattern, callee.function, callee.callers, depth - 1, path, points, seen);
            path.pop_back();
        }
    }
}

} // namespace

std::vector<ResolvedPoint> places_inside(const ProcessTarget& target, const ProcessPattern& pattern,
                                         const std::vector<FunctionInstance>& functions,
                                         std::vector<std::string>& seen) {
    std::vector<ResolvedPoint> points;
    for (const FunctionInstance& function : functions) {
        std::vector<DieOffset> path = {function.die};
        if (pattern.inside->name == "label")
            add_labels(target, pattern, function, points, seen);
        else
            add_callees(target, pattern, function, {}, pattern.depth, path, points, seen);
    }
    // The same call can be found on several ways.
    std::vector<ResolvedPoint> out;
    for (ResolvedPoint& point : points) {
        auto same = std::find_if(out.begin(), out.end(), [&](const ResolvedPoint& other) {
            return other.point.pp == point.point.pp && other.point.offset == point.point.offset;
        });
        if (same == out.end())
            out.push_back(std::move(point));
        else
            same->callers.insert(same->callers.end(), point.callers.begin(), point.callers.end());
    }
    return out;
}

} // namespace sonde
