// Each component turns a place into another place. Nothing is loaded until a pointer or a reference must be followed,
// so that `&$p->next->size` and assignments need no special case.
//
// References are followed before each component, because the source cannot distinguish `r.x` from `(*r).x`.
//
// The index of an array is a script expression, evaluated at the time of the probe. The array's address may instead
// come from the function's entry (in a return probe). The two must not be mixed: element() first saves the address at
// the entry, and then adds the index of now.
#include "frontend/variables/components.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"

namespace sonde {

namespace {

// The place that a pointer or reference points to. Also for an array with a dimension less.
std::optional<Place> pointed_to(Binding& b, const Place& place, Range range) {
    const Type* pointer = strip(place.type);
    if (place.pointee) {
        Place target = *place.pointee;
        target.type = pointer->target;
        target.at_entry = place.at_entry;
        return target;
    }
    hir::Expr* address = load(b, place, range);
    if (!address)
        return std::nullopt;
    Place target = object_at(address, pointer->target);
    target.kernel = place.kernel;
    return target;
}

} // namespace

std::optional<Place> without_references(Binding& b, Place place, Range range) {
    for (const Type* type = strip(place.type); type && type->kind == Type::Reference; type = strip(place.type)) {
        std::optional<Place> target = pointed_to(b, place, range);
        if (!target)
            return std::nullopt;
        place = *std::move(target);
    }
    return place;
}

namespace {

// Reports that the record lacks this member, with the most similar one, or with all members.
void refuse_member(Binding& b, const Type* record, const ast::Component& component) {
    std::vector<std::string> names = member_names(record);
    std::string near = nearest_name(component.name, names);
    DiagBuilder report =
        b.binder.diags.report(DiagId::UnknownMember, component.range,
                              fmt::format("`{}` has no member `{}`", type_name(record), component.name));
    report.suggest(near);
    if (!near.empty())
        return;
    constexpr size_t most = 16;
    std::string list;
    for (size_t i = 0; i < names.size() && i < most; i++)
        list += (i ? " " : "") + names[i];
    if (!list.empty())
        report.help(fmt::format("its members are `{}{}`", list, names.size() > most ? " ..." : ""));
}

// `$p->m` follows a pointer first. Members of anonymous members and of bases have several steps.
std::optional<Place> member(Binding& b, Place place, size_t index) {
    const ast::Component& component = b.expr.components[index];
    const Type* before = place.type;
    if (const Type* type = strip(place.type); type && type->kind == Type::Pointer) {
        std::optional<Place> target = pointed_to(b, place, component.range);
        if (!target)
            return std::nullopt;
        place = *std::move(target);
    }
    if (!is_record(place.type)) {
        b.fail(DiagId::TypeMismatch, component.range,
               fmt::format("`{}` is `{}`, which has no members", b.as_written(index), type_name(before)));
        return std::nullopt;
    }
    const Type* record = strip(place.type);
    std::vector<TypeMember> path = find_member_path(record, component.name);
    for (size_t i = 0; i < path.size(); i++) {
        if (const Type* type = strip(place.type); i > 0 && type->kind == Type::Pointer) { // an embedded pointer of Go
            std::optional<Place> target = pointed_to(b, place, component.range);
            if (!target)
                return std::nullopt;
            place = *std::move(target);
        }
        place = inside(b, place, path[i]);
    }
    if (!path.empty())
        return place;
    if (std::optional<int64_t> value = find_member_enumerator(record, component.name))
        return constant_place(b, *value);
    if (record->incomplete && record->members.empty())
        b.fail(DiagId::UnknownMember, component.range,
               fmt::format("`{}` is `{}`, whose members are not known", b.as_written(index), type_name(before)));
    else
        refuse_member(b, place.type, component);
    return std::nullopt;
}

// Arrays with a descriptor (Fortran, Pascal) compute the address of the first element, and perhaps the distance between
// elements, from the descriptor. A pointer is an array without a size.
std::optional<Place> element(Binding& b, Place place, size_t index) {
    const ast::Component& component = b.expr.components[index];
    const Type* type = strip(place.type);
    auto refuse = [&](DiagId id, const std::string& message) {
        b.fail(id, component.range, message);
        return std::nullopt;
    };
    bool pointer = type && type->kind == Type::Pointer;
    if (!pointer && (!type || type->kind != Type::Array))
        return refuse(DiagId::TypeMismatch, fmt::format("`{}` is `{}`, neither an array nor a pointer",
                                                        b.as_written(index), type_name(place.type)));
    uint64_t size = size_of(type->target);
    const bool is_described = !type->elements.empty() || !type->stride.empty();
    if (size == 0 && type->stride.empty())
        return refuse(DiagId::TypeMismatch, fmt::format("`{}` is `{}`, whose elements have no known size",
                                                        b.as_written(index), type_name(place.type)));
    if (pointer) {
        std::optional<Place> target = pointed_to(b, place, component.range);
        if (!target)
            return std::nullopt;
        place = *std::move(target);
    }
    place.type = type->target;
    hir::Expr* stride = nullptr; // if the program stores it
    if (is_described && place.address) {
        if (!type->elements.empty())
            place.descriptor = place.address;
        Place array = place;
        array.type = type;
        place.address = b.saved(first_element(b, array), place.at_entry);
        if (!type->stride.empty())
            stride = b.saved(follow_steps(b, array, type->stride), place.at_entry);
        place.at_entry = false;
    }

    std::optional<int64_t> literal;
    if (component.index->kind == ast::ExprKind::Number)
        literal = ast::as<ast::NumberExpr>(*component.index).value;
    if (literal && !stride) {
        if (!pointer && type->count && (*literal < 0 || static_cast<uint64_t>(*literal) >= *type->count))
            return refuse(DiagId::TypeMismatch, fmt::format("index {} is outside of `{}`, which has {} elements",
                                                            *literal, b.as_written(index), *type->count));
        auto distance = static_cast<int64_t>(static_cast<uint64_t>(*literal) * size);
        if (place.address)
            place.address = b.plus(place.address, distance);
        else
            place.offset += static_cast<uint64_t>(distance);
        return place;
    }
    if (!place.address)
        return refuse(DiagId::Unsupported,
                      fmt::format("`{}` is not in memory here, so its index must be a number", b.as_written(index)));
    hir::Expr* at = b.binder.lower(*component.index);
    if (!at)
        return std::nullopt;
    if (at->type == hir::ValueType::String)
        return refuse(DiagId::TypeMismatch, "an index is a number, not a string");
    // The index has its current value; only the address can be from the function's entry.
    place.address = b.saved(place.address, place.at_entry);
    place.at_entry = false;
    hir::Expr* distance = stride      ? b.binary(hir::BinaryOp::Mul, at, stride)
                          : size == 1 ? at
                                      : b.binary(hir::BinaryOp::Mul, at, b.number(static_cast<int64_t>(size)));
    place.address = b.binary(hir::BinaryOp::Add, place.address, distance);
    return place;
}

} // namespace

std::optional<Place> walk_components(Binding& b, Place place, size_t end) {
    for (size_t i = 0; i < end; i++) {
        const ast::Component& component = b.expr.components[i];
        std::optional<Place> next = without_references(b, std::move(place), component.range);
        if (!next)
            return std::nullopt;
        next =
            component.kind == ast::Component::Member ? member(b, *std::move(next), i) : element(b, *std::move(next), i);
        if (!next)
            return std::nullopt;
        place = *std::move(next);
    }
    return place;
}

} // namespace sonde
