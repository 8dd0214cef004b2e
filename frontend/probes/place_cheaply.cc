// Where a function's probe sits. An instruction that the kernel has to single-step costs up to ten times one that it
// emulates, and most functions begin with one of these, `push`.
#include <algorithm>

#include "frontend/dwarf/function_body.h"
#include "frontend/probes/probe.h"

namespace sonde {
namespace {

bool readable(const Location& location) {
    if (location.kind == Location::Pieces)
        return std::all_of(location.pieces.begin(), location.pieces.end(),
                           [](const Location::Piece& piece) { return readable(piece.place); });
    return location.kind != Location::Unavailable;
}

// The parameters that the handler names; nullopt: it names other variables of the function too.
std::optional<std::vector<Variable>> named_parameters(const ResolvedPoint& point,
                                                      const std::vector<const ast::TargetExpr*>& targets) {
    std::vector<Variable> parameters = point.module->parameters(point.function), named;
    for (const ast::TargetExpr* target : targets) {
        if (target->base != ast::TargetExpr::Variable || target->name == "$return" || target->name == "$$return")
            continue;
        if (target->name == "$$parms") {
            named.insert(named.end(), parameters.begin(), parameters.end());
            continue;
        }
        auto found =
            std::ranges::find_if(parameters, [&](const Variable& one) { return "$" + one.name == target->name; });
        if (found == parameters.end())
            return std::nullopt;
        named.push_back(*found);
    }
    return named;
}

// Whether they are all known where the function was just called.
bool known_at_call(const ResolvedPoint& point, const std::vector<Variable>& parameters) {
    return std::ranges::all_of(parameters, [&](const Variable& one) {
        return readable(point.module->parameter_locations().at_entry(point.function, one, point.function.entry));
    });
}

bool known_at(const ResolvedPoint& point, const std::vector<Variable>& parameters, Address address) {
    return std::ranges::all_of(parameters, [&](const Variable& one) {
        return readable(point.module->parameter_locations().inside(point.function, one, address));
    });
}

// The first address in the function's first block where all of them are in their places; nullopt: there is none.
std::optional<Address> known_from(const ResolvedPoint& point, const std::vector<Variable>& parameters) {
    Address from = point.function.entry;
    for (const Variable& one : parameters) {
        std::optional<Address> holds = point.module->parameter_locations().holds_from(point.function, one);
        if (!holds)
            return std::nullopt;
        from = std::max(from, *holds);
    }
    return known_at(point, parameters, from) &&
                   runs_once(point.module->file(), point.function.entry, from, point.function.high)
               ? std::optional(from)
               : std::nullopt;
}

// A statement at a function's first instruction (its `{`) stays there, before the prologue has put parameters where
// they are afterwards.
bool is_statement_at_call(const ResolvedPoint& point) {
    return !point.is_function && !point.is_go && point.module && !point.function.inlined &&
           point.function.has_debug_info && point.address == point.function.entry;
}

// Where parameters are read, and whether that is before the prologue.
struct EntryPlace {
    Address address;
    bool at_call;
    bool is_chosen; // another place than the function's own
};

EntryPlace choose_entry(const ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    const FunctionInstance& function = point.function;
    ParameterLocations& places = point.module->parameter_locations();
    const bool keeps_to_abi = point.module->calling_convention().keeps_to_abi(function);
    const bool prologue = function.body != function.entry;
    const bool described = function.has_debug_info && !function.inlined;
    const bool optimized = described && places.is_optimized(function);
    // A loop begins where the prologue ends: only before it is a call counted once.
    const bool repeats = function.body_repeats && keeps_to_abi;
    std::optional<Address> cheap = point.module->cheap_entry(function);
    if (!described)
        return {cheap.value_or(function.entry), false, cheap.has_value()};
    std::optional<std::vector<Variable>> parameters = named_parameters(point, targets);
    const bool may_be_early = keeps_to_abi || optimized || !prologue;
    if (!repeats && !(parameters && may_be_early && known_at_call(point, *parameters))) {
        if (prologue && !optimized)
            return {function.body, false, false};
        // The frame is filled anywhere in the first block of optimised code, and lines do not tell where.
        std::optional<Address> from = optimized && parameters ? known_from(point, *parameters) : std::nullopt;
        if (from && *from != function.entry)
            return {*from, false, true};
        if (prologue && parameters && known_at(point, *parameters, function.body))
            return {function.body, false, false};
    }
    // Optimised code says itself where its variables are; after an endbr64 too.
    if (!cheap && (repeats || optimized))
        cheap = function.entry;
    if (cheap)
        return {*cheap, true, true};
    return {function.body, !prologue, false};
}

} // namespace

void place_cheaply(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    bool whole_function = point.module && (point.address == point.function.entry ||
                                           point.address == point.function.body || point.at_return_instruction);
    if (is_statement_at_call(point))
        point.at_call = true;
    if (!point.is_function || !whole_function || point.is_go)
        return;
    const EntryPlace entry = choose_entry(point, targets);
    point.at_call = entry.at_call;
    // Of a file and of a symbol of the kernel's alike, offsets differ as addresses do.
    auto move = [](Address& address, uint64_t& offset, Address to) {
        offset += to - address;
        address = to;
    };
    if (point.is_return && !point.at_return_instruction)
        if (std::optional<Address> cheap = point.module->cheap_entry(point.function)) // the return address is on top
            move(point.address, point.point.offset, *cheap);
    if (!entry.is_chosen)
        return;
    if (point.is_return)
        move(point.entry_address, point.point.entry_offset, entry.address);
    else
        move(point.address, point.point.offset, entry.address);
    if (!point.is_return)
        point.entry_address = entry.address;
}

} // namespace sonde
