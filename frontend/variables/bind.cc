// The entry points for sema, one for each use of a target expression.
// For `$p->next->size`, the source of the probe point (sources.h) finds the place of `$p`. walk_components() then goes
// from place to place, and the use decides the end:
//
//     $p->next->size         find_value(): loads the last place as a number
//     &$p->next->size        find_address(): its address; an error if the place is a register
//     $p->next$              pretty_text(): reads the place and all its members as a text
//     $p->next->size = 1     store.cc
#include "frontend/variables/bind.h"

#include <fmt/format.h>

#include "arch/architecture.h"
#include "frontend/variables/bases.h"
#include "frontend/variables/components.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/located.h"
#include "frontend/variables/location.h"
#include "frontend/variables/pretty.h"
#include "frontend/variables/reading.h"
#include "frontend/variables/sources.h"

namespace sonde {
namespace {

bool is_summary(const ast::TargetExpr& expr) {
    return expr.base == ast::TargetExpr::Variable && expr.name.starts_with("$$");
}

// Finds the place of the base.
std::optional<Place> find_base(Binding& b) {
    switch (b.expr.base) {
    case ast::TargetExpr::Cast:
        return cast_place(b);
    case ast::TargetExpr::Value:
        return pointer_place(b);
    case ast::TargetExpr::Var:
        return is_errno(b) ? errno_place(b) : global_place(b);
    case ast::TargetExpr::Variable:
        break;
    }
    return b.point.variables->find(b);
}

hir::Expr* find_value(Binding& b) {
    const VariableSource& source = *b.point.variables;
    if (source.text && b.expr.base == ast::TargetExpr::Variable)
        return source.text(b);
    if (is_summary(b.expr))
        return source.summary(b);
    if (b.pretty_depth() > 0)
        return pretty_text(b);
    std::optional<Place> place = find_place(b, b.expr.components.size());
    if (!place)
        return nullptr;
    // A whole object is not a number, but its address was given.
    if (b.expr.base == ast::TargetExpr::Cast && b.expr.components.empty() && is_record(place->type)) {
        // Another node than the operand, whose own type must not change.
        auto* address = b.make<hir::Retype>(b.expr.range, place->address, 8u, false);
        b.note_pointer(address, place->type);
        return address;
    }
    hir::Expr* value = to_long(b, *place, b.expr.range);
    const Type* type = strip(place->type);
    if (type && type->kind == Type::Reference)
        b.note_pointer(value, type->target);
    else if (value && b.binder.record_c_type)
        b.binder.record_c_type(value, place->type);
    return value;
}

hir::Expr* find_address(Binding& b) {
    if (target_type(b.expr) == hir::ValueType::String)
        return b.fail(DiagId::TypeMismatch, b.expr.range,
                      fmt::format("`{}` is text, which has no address", ast::to_source(b.expr)));
    b.wants_address = true;
    std::optional<Place> place = referenced_place(b);
    if (!place)
        return nullptr;
    if (place->bit_size != 0)
        return b.fail(DiagId::TypeMismatch, b.expr.range,
                      fmt::format("`{}` is a bitfield, which has no address", b.as_written()));
    if (hir::Expr* address = address_of(b, *place)) {
        auto* value = b.make<hir::Retype>(b.expr.range, address, 8u, false);
        b.note_pointer(value, place->type);
        return value;
    }
    return b.fail(DiagId::VariableUnavailable, b.expr.range,
                  fmt::format("`{}` is not in memory here, so it has no address", b.as_written()));
}

} // namespace

std::optional<Place> find_place(Binding& b, size_t end) {
    std::optional<Place> place = find_base(b);
    return place ? walk_components(b, *std::move(place), end) : std::nullopt;
}

std::optional<Place> referenced_place(Binding& b) {
    std::optional<Place> place = find_place(b, b.expr.components.size());
    return place ? without_references(b, *std::move(place), b.expr.range) : std::nullopt;
}

hir::ValueType target_type(const ast::TargetExpr& expr) {
    if (is_summary(expr))
        return hir::ValueType::String;
    for (const ast::Component& component : expr.components)
        if (component.kind == ast::Component::PrettyOne || component.kind == ast::Component::PrettyDeep)
            return hir::ValueType::String;
    return hir::ValueType::Long;
}

Bound bind_target(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder) {
    Binding b(expr, point, binder);
    hir::Expr* value = find_value(b);
    return {value, b.needs_same_types};
}

Located find_located(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder) {
    Binding b(expr, point, binder);
    const bool is_object = expr.base != ast::TargetExpr::Cast && target_type(expr) == hir::ValueType::Long &&
                           !(point.variables->text && expr.base == ast::TargetExpr::Variable);
    if (!is_object)
        return {find_value(b) != nullptr, b.needs_same_types};
    std::optional<Place> place = referenced_place(b);
    const bool found = place && (is_record(place->type) || to_long(b, *place, expr.range));
    return {found, b.needs_same_types};
}

Bound bind_address_of(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder) {
    Binding b(expr, point, binder);
    hir::Expr* address = find_address(b);
    return {address, b.needs_same_types};
}

std::optional<hir::Expr*> bind_assignment(const ast::TargetExpr& expr, bool append, hir::Expr* value,
                                          const ResolvedPoint& point, Binder& binder) {
    const VariableSource& source = *point.variables;
    if (expr.base != ast::TargetExpr::Variable || !source.assign)
        return std::nullopt;
    Binding b(expr, point, binder);
    return source.assign(b, append, value);
}

// The handler of a return needs the stack pointer at the entry, to recognize the call that returns. If the probe was
// moved to a place after the prologue, the call frame information tells it. In an entry of the linkage table, nothing
// has been pushed yet.
hir::Expr* bind_entry_stack(const ResolvedPoint& point, Range range, Arena& arena, Diagnostics& diags,
                            ProbeEnvironment& env) {
    if (!point.module || (point.entry_address == point.address && !point.module->file().is_32_bit()))
        return nullptr;
    const int stack_pointer = point.architecture().registers().stack_pointer;
    ast::TargetExpr none((Range()));
    Binder binder{arena, diags, env, nullptr, nullptr};
    Binding b(none, point, binder);
    // In 32-bit programs, too, the place is 8 bytes below the stack pointer after the return
    // (Locations::entry_stack_pointer()). A return instruction finds the stack pointer 4 bytes above that place.
    const bool is_on_top = point.module->file().is_32_bit() && point.at_return_instruction;
    // Only an endbr64 can precede these addresses, which does not change the stack.
    if (point.plt || point.entry_address == point.function.entry ||
        point.module->cheap_entry(point.function) == point.entry_address) {
        if (!point.module->file().is_32_bit() || is_on_top)
            return arena.make<hir::Register>(Range(), stack_pointer);
        return evaluate(b, {{LocationOp::Register, stack_pointer}, {LocationOp::Constant, -4}, {LocationOp::Add}});
    }
    Location location = point.module->entry_stack_pointer(point.entry_address);
    if (is_on_top)
        for (const LocationOp& op : {LocationOp{LocationOp::Constant, 4}, LocationOp{LocationOp::Add}})
            location.ops.push_back(op);
    if (location.kind == Location::Memory)
        return evaluate(b, location.ops);
    if (!point.architecture().registers().call.entry_above_frame_pointer)
        diags.report(DiagId::VariableUnavailable, range,
                     fmt::format("cannot save values at the entry of `{}` for its return: no unwinding table describes "
                                 "the stack at {:#x}; probe `.call` and store them in an array by `tid()`",
                                 point.function.name, point.entry_address));
    return nullptr;
}

} // namespace sonde
