// Each component turns a place into another place. Nothing is loaded until a pointer or a reference must be followed,
// so that `&$p->next->size` and assignments need no special case.
//
// References are followed before each component, because the source cannot distinguish `r.x` from `(*r).x`. So are
// pointers that the program's library has as types, such as a shared_ptr or Rc, if they lack the member.
//
// The index of an array is a script expression, evaluated at the time of the probe. The array's address may instead
// come from the function's entry (in a return probe). The two must not be mixed: element() first saves the address at
// the entry, and then adds the index of now.
#include "frontend/variables/components.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/elements.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"
#include "frontend/variables/rust_types.h"

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
std::optional<Place> own_member(Binding& b, Place place, size_t index) {
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

// Follows library types that act as pointers while `is_wanted` is false for the place. An Rc<Box<T>> has two of them.
// The result is the place itself if `is_wanted` is never true.
template <typename Wanted> Place follow_owners(Binding& b, const Place& place, Wanted is_wanted) {
    constexpr int most = 8;
    Place at = place;
    for (int i = 0; i < most; i++) {
        if (is_wanted(at))
            return at;
        const Type* type = strip(at.type);
        std::optional<Place> next = type && (type->kind == Type::Pointer || type->kind == Type::Reference)
                                        ? pointed_to(b, at, b.expr.range)
                                        : pointee_of(b, at);
        if (!next)
            break;
        at = *std::move(next);
    }
    return place;
}

std::optional<Place> member(Binding& b, const Place& place, size_t index) {
    const std::string& name = b.expr.components[index].name;
    if (!is_record(place.type) && !is_rust_reference(strip(place.type)))
        return own_member(b, place, index);
    const Place owner = follow_owners(b, place, [&](const Place& at) {
        const Type* type = strip(at.type);
        return is_record(type) && (complete(type), !find_member_path(type, name).empty() ||
                                                       find_member_enumerator(type, name).has_value());
    });
    return own_member(b, owner, index);
}

// `$p->*`: the object to which a pointer leads.
std::optional<Place> target(Binding& b, const Place& place, size_t index) {
    const ast::Component& component = b.expr.components[index];
    const Type* type = strip(place.type);
    if (type && type->kind == Type::Pointer && size_of(type->target) != 0)
        return pointed_to(b, place, component.range);
    if (std::optional<Place> object = pointee_of(b, place))
        return object;
    if (type && type->kind == Type::Array) { // as in C, where the name of an array is the address of its first element
        Place first = place;
        first.type = type->target;
        return first;
    }
    b.fail(DiagId::TypeMismatch, component.range,
           fmt::format("`{}` is `{}`, which is not a pointer to an object of known size", b.as_written(index),
                       type_name(place.type)));
    return std::nullopt;
}

// The elements of a type of the program's library, which a reference or a shared pointer may lead to. Of Rust, where
// `v[1]` of a `&Vec` is its element 1; C adds to a pointer. nullopt: it has none.
std::optional<Sequence> library_elements(Binding& b, const Place& place) {
    const Type* type = strip(place.type);
    if (!is_record(type) && !is_rust_reference(type))
        return std::nullopt;
    Sequence found;
    follow_owners(b, place, [&](const Place& at) {
        found = elements_of(b, at);
        return bool(found);
    });
    return found ? std::optional(found) : std::nullopt;
}

// The array to which a reference of Rust leads. nullopt without a report if the place is something else.
std::optional<Place> behind_rust_references(Binding& b, Place place, Range range) {
    constexpr int most = 8;
    const Type* type = strip(place.type);
    for (int i = 0; i < most && is_rust_reference(type); i++) {
        std::optional<Place> next = pointed_to(b, place, range);
        if (!next)
            return std::nullopt;
        place = *std::move(next);
        type = strip(place.type);
        if (type && type->kind == Type::Array)
            return place;
    }
    return std::nullopt;
}

// Arrays with a descriptor (Fortran, Pascal) compute the address of the first element, and perhaps the distance between
// elements, from the descriptor. A pointer is an array without a size.
std::optional<Place> element(Binding& b, Place place, size_t index) {
    const ast::Component& component = b.expr.components[index];
    auto refuse = [&](DiagId id, const std::string& message) {
        b.fail(id, component.range, message);
        return std::nullopt;
    };
    const size_t errors = b.binder.diags.error_count();
    if (const std::optional<Sequence> elements = library_elements(b, place)) {
        hir::Expr* at = b.binder.lower(*component.index);
        if (at && at->type == hir::ValueType::String)
            return refuse(DiagId::TypeMismatch, "an index is a number, not a string");
        return at ? element_at(b, *elements, at, b.as_written(index)) : std::nullopt;
    }
    if (b.binder.diags.error_count() > errors) // a part of the container is not available
        return std::nullopt;
    if (std::optional<Place> array = behind_rust_references(b, place, component.range))
        place = *std::move(array);
    const Type* type = strip(place.type);
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
        next = component.kind != ast::Component::Member ? element(b, *std::move(next), i)
               : component.name == "*"                  ? target(b, *next, i)
                                                        : member(b, *next, i);
        if (!next)
            return std::nullopt;
        place = *std::move(next);
    }
    return place;
}

} // namespace sonde
