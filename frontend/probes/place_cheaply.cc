// Where a function's probe sits. An instruction that the kernel has to single-step costs up to ten times one that it
// emulates, and most functions begin with one of these, `push`.
#include <algorithm>

#include "frontend/probes/probe.h"

namespace sonde {
namespace {

bool readable(const Location& location) {
    if (location.kind == Location::Pieces)
        return std::all_of(location.pieces.begin(), location.pieces.end(),
                           [](const Location::Piece& piece) { return readable(piece.place); });
    return location.kind != Location::Unavailable;
}

// Whether all that the handler names is known where the function was just called.
bool known_at_call(const ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    std::vector<Variable> parameters = point.module->parameters(point.function);
    auto is_readable = [&](const Variable& one) {
        return readable(point.module->calling_convention().argument_location(point.function, one));
    };
    return std::all_of(targets.begin(), targets.end(), [&](const ast::TargetExpr* target) {
        if (target->base != ast::TargetExpr::Variable || target->name == "$return" || target->name == "$$return")
            return true;
        if (target->name == "$$parms")
            return std::all_of(parameters.begin(), parameters.end(), is_readable);
        auto named = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Variable& one) { return "$" + one.name == target->name; });
        return named != parameters.end() && is_readable(*named);
    });
}

// A statement at a function's first instruction (its `{`) stays there, before the prologue has put parameters where
// unoptimised code has them.
bool is_statement_at_call(const ResolvedPoint& point) {
    return !point.is_function && !point.is_go && point.module && !point.function.inlined &&
           point.function.has_debug_info && point.address == point.function.entry &&
           point.function.body != point.function.entry &&
           point.module->calling_convention().keeps_to_abi(point.function);
}

} // namespace

void place_cheaply(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    bool whole_function = point.module && (point.address == point.function.entry ||
                                           point.address == point.function.body || point.at_return_instruction);
    if (is_statement_at_call(point))
        point.at_call = true;
    if (!point.is_function || !whole_function || point.is_go)
        return;
    std::optional<Address> cheap = point.module->cheap_entry(point.function);
    // A loop begins where the prologue ends: only before it is a call counted once.
    bool repeats = point.function.body_repeats && point.module->calling_convention().keeps_to_abi(point.function);
    if (repeats && !cheap)
        cheap = point.function.entry;
    std::optional<uint64_t> offset = cheap ? point.module->file().file_offset(*cheap) : std::nullopt;
    if (!offset)
        return;
    // Optimised code says itself where its variables are; after an endbr64 too.
    bool prologue = point.function.body != point.function.entry;
    bool movable = !prologue || repeats ||
                   (point.module->calling_convention().keeps_to_abi(point.function) && known_at_call(point, targets));
    if (movable) {
        point.entry_address = *cheap;
        point.at_call = prologue;
    }
    if (point.at_return_instruction) {
        if (movable)
            point.point.entry_offset = *offset;
    } else if (point.is_return) {
        // The return address is on top of the stack there as well.
        point.address = *cheap;
        point.point.offset = *offset;
        if (movable)
            point.point.entry_offset = *offset;
    } else if (movable) {
        point.address = *cheap;
        point.point.offset = *offset;
    }
}

} // namespace sonde
