// Chooses the instruction at which a function's probe is placed.
//
// The problem. The kernel executes a probed instruction in one of two ways. It emulates some instructions, such as
// `push`. Any other one is copied and single-stepped, which costs up to ten times as much. On x86-64, most functions
// begin with `push`, so their first instruction is the best place:
//
//     push %rbp             <- cheap, but parameters are still in registers
//     mov  %rsp,%rbp
//     mov  %edi,-0x4(%rbp)
//     mov  ...              <- end of the prologue: debug information of -O0 code is valid from here on
//
// But debug information of unoptimized code says that a parameter is at -0x4(%rbp) everywhere, which is wrong before
// the prologue has stored it. So the early place is chosen only if the handler uses nothing but parameters, and if the
// ABI says where these are at the entry.
//
// Optimized code has exact locations for each address, so there the first place is chosen at which all parameters of
// the handler are available.
//
// A loop can begin right after the prologue, and then a probe there is hit in each round. In this case the probe must
// be placed before the prologue, or the number of calls is wrong.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "arch/architecture.h"
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

// Returns the parameters that the handler uses. Returns nullopt if it also uses other variables of the function.
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

// Whether the locations of all parameters are known at the function's entry.
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

// Returns the first address in the function's first basic block at which all parameters are available; nullopt if none
// exists.
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

// Whether the point is a statement at a function's first instruction (the line of its `{`). Such a point is never
// moved, and there parameters are still where the ABI passes them.
bool is_statement_at_call(const ResolvedPoint& point) {
    return !point.is_function && !point.is_go && point.module && !point.function.inlined &&
           point.function.has_debug_info && point.address == point.function.entry;
}

// The address at which parameters are read, and whether it is before the prologue.
struct EntryPlace {
    Address address;
    bool at_call;
    bool is_chosen; // not the function's default place
};

// Chooses the place in this order:
// * A function without debug information, or an inlined copy: the cheap instruction, or else the entry.
// * If the prologue ends in a loop, or if the handler's parameters are known at the entry: the cheap instruction there,
//   or the first one if none is cheap. The prologue may change registers of arguments that the handler reads by number.
// * Unoptimized code with a prologue: the end of the prologue.
// * Optimized code: the first address in the first block at which all parameters are available, or the end of the
//   prologue. If neither has them, the place is chosen as in the second case.
EntryPlace choose_entry(const ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    const FunctionInstance& function = point.function;
    ParameterLocations& places = point.module->parameter_locations();
    const bool keeps_to_abi = point.module->calling_convention().keeps_to_abi(function);
    const bool prologue = function.body != function.entry;
    const bool described = function.has_debug_info && !function.inlined;
    const bool optimized = described && places.is_optimized(function);
    // If a loop begins at the end of the prologue, only a place before the prologue is hit once per call.
    const bool repeats = function.body_repeats && keeps_to_abi;
    std::optional<Address> cheap = point.module->cheap_entry(function);
    if (!described)
        return {cheap.value_or(function.entry), false, cheap.has_value()};
    std::optional<std::vector<Variable>> parameters = named_parameters(point, targets);
    const bool may_be_early = keeps_to_abi || optimized || !prologue;
    if (!repeats && !(parameters && may_be_early && known_at_call(point, *parameters))) {
        if (prologue && !optimized)
            return {function.body, false, false};
        // Optimized code may set up the stack frame anywhere in the first block, and line information does not tell
        // where.
        std::optional<Address> from = optimized && parameters ? known_from(point, *parameters) : std::nullopt;
        if (from && *from != function.entry)
            return {*from, false, true};
        if (prologue && parameters && known_at(point, *parameters, function.body))
            return {function.body, false, false};
    }
    return {cheap.value_or(function.entry), true, true};
}

// Whether the place of the result is only known from a register at the entry, and the code before the address does not
// keep the register's value.
bool needs_entry_for_result(const ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets,
                            Address address) {
    if (!point.function.has_debug_info || !std::ranges::any_of(targets, [](const ast::TargetExpr* one) {
            return one->base == ast::TargetExpr::Variable && (one->name == "$return" || one->name == "$$return");
        }))
        return false;
    const int reg = point.architecture().registers().memory_result.address;
    return point.module->calling_convention().result_location(point.function).of_entry &&
           point.module->parameter_locations().value_of_entry(point.function, reg, address).empty();
}

// Moves an address together with the offset in a file (or from a kernel symbol); both change by the same distance.
void move(Address& address, uint64_t& offset, Address to) {
    offset += to - address;
    address = to;
}

} // namespace

void keep_result_known(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    if (!point.is_function || !point.is_return || point.is_go || !point.module ||
        !needs_entry_for_result(point, targets, point.entry_address))
        return;
    move(point.entry_address, point.point.entry_offset, point.function.entry);
    point.at_call = true;
}

void place_cheaply(ResolvedPoint& point, const std::vector<const ast::TargetExpr*>& targets) {
    bool whole_function = point.module && (point.address == point.function.entry ||
                                           point.address == point.function.body || point.at_return_instruction);
    if (is_statement_at_call(point))
        point.at_call = true;
    if (!point.is_function || !whole_function || point.is_go)
        return;
    EntryPlace entry = choose_entry(point, targets);
    if (point.is_return && entry.address != point.function.entry &&
        needs_entry_for_result(point, targets, entry.address)) {
        const std::optional<Address> cheap = point.module->cheap_entry(point.function);
        entry = {cheap.value_or(point.function.entry), true, true};
    }
    point.at_call = entry.at_call;
    if (point.is_return && !point.at_return_instruction)
        // At the entry, the return address is on top of the stack.
        if (std::optional<Address> cheap = point.module->cheap_entry(point.function))
            move(point.address, point.point.offset, *cheap);
    if (!entry.is_chosen)
        return;
    if (point.is_return) {
        move(point.entry_address, point.point.entry_offset, entry.address);
        return;
    }
    // A loop that comes back to the end of the prologue does not come back to a place before its end.
    if (point.address == point.function.body && point.function.body != point.function.entry)
        point.repeats.clear();
    move(point.address, point.point.offset, entry.address);
    point.entry_address = entry.address;
}

} // namespace sonde
