// Resolves process("P").function("f").label("l"), .callee("g") and .callees(N): places inside functions.
//
// `.callee("g")` is hit when f calls g, but not when other functions do. If g is inlined into f, the inlined copy is
// the point. If f calls g, the probe is at g, and its handler checks the return address: a hit counts only if g returns
// into f. `.callees(2)` also checks the caller of the caller. If f jumps to g (a tail call), g does not return into f.
// The jump itself is then probed.
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

// Adds a call that returns to `returns`; the calling function is itself called by one of `callers`.
void add_caller(DwarfModule& module, Address returns, const std::vector<Caller>& callers, std::vector<Caller>& out) {
    // Look up the frame one byte before the return address: the call may be the function's last instruction, and the
    // next byte may belong to another function.
    std::optional<FrameRule> frame = module.frame_rule(returns - 1);
    for (Caller& same : out)
        if (frame && same.frame == *frame) {
            same.return_addresses.push_back(returns);
            return;
        }
    out.push_back({{returns}, frame.value_or(FrameRule()), frame ? callers : std::vector<Caller>()});
}

// Moves a function's probe to a jump that is a tail call of it. At the jump the state is the same as at the function's
// entry: the return address is on top of the stack, and the parameters are where the ABI passes them. Returns false if
// the jump is not in a file, or if the probe is to change the return address before it is known whether a conditional
// jump is taken.
bool move_to_jump(ResolvedPoint& point, const TailJump& jump) {
    std::optional<uint64_t> offset = point.module->file().file_offset(jump.address);
    if (!offset || point.at_return_instruction || (point.is_return && jump.condition))
        return false;
    point.jump = jump.address;
    point.jump_condition = jump.condition;
    point.point.offset = *offset;
    if (point.is_return)
        point.point.entry_offset = *offset;
    point.address = point.entry_address = point.function.entry;
    point.at_call = point.function.body != point.function.entry;
    point.is_function = false; // must not be moved again
    return true;
}

Error no_return_after_jump(const FunctionInstance& function, const FunctionInstance& callee) {
    return Error(
        fmt::format("`{}` jumps to `{}` (a tail call), so the return of `{}` does not show which function called it",
                    function.name, callee.name, callee.name));
}

// Adds the callees of `function`, down to `depth`. `function` itself is called by one of `callers`. `path` has the
// functions that are already part of this chain of calls.
void add_callees(const ProcessTarget& target, const ProcessPattern& pattern, const FunctionInstance& function,
                 const std::vector<Caller>& callers, int depth, std::vector<DieOffset>& path, PlacesInside& out) {
    struct Callee {
        FunctionInstance function;
        std::vector<Caller> callers;
    };
    // By address and name: one address can be an inlined copy of several functions. Tail calls are separate, because
    // each jump is probed.
    std::map<std::tuple<Address, std::string, std::optional<TailJump>>, Callee> callees;
    for (CallSite& call : target.module->calls(function)) {
        out.seen.push_back(call.callee.name);
        Callee& callee = callees[{call.callee.entry, call.callee.name, call.jump}];
        callee.function = std::move(call.callee);
        if (call.return_address == 0)
            // An inlined copy has the frame of its caller; so has a function that is reached by a tail call.
            callee.callers = callers;
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
            const size_t before = out.points.size();
            for (ResolvedPoint& point : places ? *places : std::vector<ResolvedPoint>()) {
                point.callers = callee.callers;
                if (const std::optional<TailJump>& jump = std::get<2>(key); !jump || move_to_jump(point, *jump))
                    out.points.push_back(std::move(point));
            }
            if (!places)
                out.left_out.emplace_back(callee.function.name, places.error());
            else if (std::get<2>(key) && !places->empty() && out.points.size() == before)
                out.left_out.emplace_back(callee.function.name, no_return_after_jump(function, callee.function));
        }
        // A recursive function is its own callee once. A tail call leaves no trace of the function that jumped, so the
        // callees of the function after the jump are not followed.
        if (depth > 1 && !std::get<2>(key) && std::find(path.begin(), path.end(), callee.function.die) == path.end()) {
            path.push_back(callee.function.die);
            add_callees(target, pattern, callee.function, callee.callers, depth - 1, path, out);
            path.pop_back();
        }
    }
}

} // namespace

PlacesInside places_inside(const ProcessTarget& target, const ProcessPattern& pattern,
                           const std::vector<FunctionInstance>& functions) {
    PlacesInside found;
    for (const FunctionInstance& function : functions) {
        std::vector<DieOffset> path = {function.die};
        if (pattern.inside->name == "label")
            add_labels(target, pattern, function, found.points, found.seen);
        else
            add_callees(target, pattern, function, {}, pattern.depth, path, found);
    }
    // The same call may be found through several chains.
    std::vector<ResolvedPoint> out;
    for (ResolvedPoint& point : found.points) {
        auto same = std::find_if(out.begin(), out.end(), [&](const ResolvedPoint& other) {
            return other.point.pp == point.point.pp && other.point.offset == point.point.offset;
        });
        if (same == out.end())
            out.push_back(std::move(point));
        else
            same->callers.insert(same->callers.end(), point.callers.begin(), point.callers.end());
    }
    found.points = std::move(out);
    return found;
}

} // namespace sonde
