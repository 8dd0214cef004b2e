// The components of `$x->y[3]`: from place to place, through pointers, arrays, references and anonymous members.
#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/binding.h"

namespace sonde {

uint64_t size_of(const Type* type) {
    type = strip(type);
    if (!type)
        return 0;
    complete(type);
    if (type->kind == Type::Array)
        return type->count ? *type->count * size_of(type->target) : type->size;
    if (type->size == 0 && (type->kind == Type::Pointer || type->kind == Type::Reference))
        return 8;
    return type->size;
}

bool is_char(const Type* type) {
    type = strip(type);
    return type && type->kind == Type::Character && type->size == 1;
}

bool is_record(const Type* type) {
    type = strip(type);
    return type && (type->kind == Type::Struct || type->kind == Type::Union);
}

Place member_place(const Place& record, const TypeMember& member) {
    Place place = record;
    place.type = member.type;
    place.offset += member.byte_offset;
    place.bit_offset = member.bit_offset;
    place.bit_size = member.bit_size;
    return place;
}

std::optional<Place> TargetBinder::without_references(Place place, Range range) {
    for (const Type* type = strip(place.type); type && type->kind == Type::Reference; type = strip(place.type)) {
        hir::Expr* address = load(place, range);
        if (!address)
            return std::nullopt;
        bool kernel = place.kernel;
        place = Place();
        place.kernel = kernel;
        place.type = type->target;
        place.address = address;
    }
    return place;
}

std::optional<Place> TargetBinder::pointed_to(const Place& place, Range range) {
    const Type* pointer = strip(place.type);
    Place target;
    target.address = load(place, range);
    if (!target.address)
        return std::nullopt;
    target.type = pointer->target;
    target.kernel = place.kernel;
    return target;
}

std::optional<Place> TargetBinder::walk(Place place, size_t end) {
    for (size_t i = 0; i < end; i++) {
        const ast::Component& component = expr_.components[i];
        std::optional<Place> next = without_references(std::move(place), component.range);
        if (!next)
            return std::nullopt;
        next = component.kind == ast::Component::Member ? member(*std::move(next), i) : element(*std::move(next), i);
        if (!next)
            return std::nullopt;
        place = *std::move(next);
    }
    return place;
}

std::optional<Place> TargetBinder::member(Place place, size_t index) {
    const ast::Component& component = expr_.components[index];
    const Type* before = place.type;
    if (const Type* type = strip(place.type); type && type->kind == Type::Pointer) {
        std::optional<Place> target = pointed_to(place, component.range);
        if (!target)
            return std::nullopt;
        place = *std::move(target);
    }
    if (!is_record(place.type)) {
        fail(DiagId::TypeMismatch, component.range,
             fmt::format("`{}` is `{}`, which has no members", text(index), type_name(before)));
        return std::nullopt;
    }
    std::optional<TypeMember> found = find_member(place.type, component.name);
    if (!found) {
        const Type* record = strip(place.type);
        if (record->incomplete && record->members.empty()) {
            fail(DiagId::UnknownMember, component.range,
                 fmt::format("`{}` is `{}`, whose members are not known", text(index), type_name(before)));
            return std::nullopt;
        }
        std::vector<std::string> names = member_names(place.type);
        std::string near = nearest_name(component.name, names);
        DiagBuilder report =
            binder_.diags.report(DiagId::UnknownMember, component.range,
                                 fmt::format("`{}` has no member `{}`", type_name(place.type), component.name));
        report.suggest(near);
        if (near.empty()) {
            constexpr size_t most = 16;
            std::string list;
            for (size_t i = 0; i < names.size() && i < most; i++)
                list += (i ? " " : "") + names[i];
            if (!list.empty())
                report.help(fmt::format("its members are `{}{}`", list, names.size() > most ? " ..." : ""));
        }
        return std::nullopt;
    }
    Place next = member_place(place, *found);
    if (next.address)
        next.address = plus(next.address, static_cast<int64_t>(found->byte_offset));
    return next;
}

std::optional<Place> TargetBinder::element(Place place, size_t index) {
    const ast::Component& component = expr_.components[index];
    const Type* type = strip(place.type);
    auto refuse = [&](DiagId id, const std::string& message) {
        fail(id, component.range, message);
        return std::nullopt;
    };
    bool pointer = type && type->kind == Type::Pointer;
    if (!pointer && (!type || type->kind != Type::Array))
        return refuse(DiagId::TypeMismatch,
                      fmt::format("`{}` is `{}`, neither an array nor a pointer", text(index), type_name(place.type)));
    uint64_t size = size_of(type->target);
    if (size == 0)
        return refuse(DiagId::TypeMismatch, fmt::format("`{}` is `{}`, whose elements have no known size", text(index),
                                                        type_name(place.type)));
    if (pointer) {
        std::optional<Place> target = pointed_to(place, component.range);
        if (!target)
            return std::nullopt;
        place = *std::move(target);
    }
    place.type = type->target;

    std::optional<int64_t> literal;
    if (component.index->kind == ast::ExprKind::Number)
        literal = ast::as<ast::NumberExpr>(*component.index).value;
    if (literal) {
        if (!pointer && type->count && (*literal < 0 || static_cast<uint64_t>(*literal) >= *type->count))
            return refuse(DiagId::TypeMismatch, fmt::format("index {} is outside of `{}`, which has {} elements",
                                                            *literal, text(index), *type->count));
        auto distance = static_cast<int64_t>(static_cast<uint64_t>(*literal) * size);
        if (place.address)
            place.address = plus(place.address, distance);
        else
            place.offset += static_cast<uint64_t>(distance);
        return place;
    }
    if (!place.address)
        return refuse(DiagId::Unsupported,
                      fmt::format("`{}` is not in memory here, so its index must be a number", text(index)));
    hir::Expr* at = binder_.lower(*component.index);
    if (!at)
        return std::nullopt;
    if (at->type == hir::ValueType::String)
        return refuse(DiagId::TypeMismatch, "an index is a number, not a string");
    // The index holds now: only the address can come from the function's entry.
    place.address = saved(place.address, place.at_entry);
    place.at_entry = false;
    hir::Expr* distance = size == 1 ? at : binary(hir::BinaryOp::Mul, at, number(static_cast<int64_t>(size)));
    place.address = binary(hir::BinaryOp::Add, place.address, distance);
    return place;
}

hir::Expr* TargetBinder::address_of(const Place& place) { return saved(place.address, place.at_entry); }

hir::Expr* TargetBinder::double_bits(const Place& place, Range range) {
    uint64_t size = size_of(strip(place.type));
    if (size != 4 && size != 8)
        return fail(DiagId::Unsupported, range,
                    fmt::format("`{}` is `{}` of {} bytes: only floating point of 4 and 8 bytes can be read", text(),
                                type_name(place.type), size));
    hir::Expr* bits = load(place, range);
    if (!bits || size == 8)
        return bits;
    return make<hir::Intrinsic>(range, "fp32_to_fp64", hir::ValueType::Long, std::vector<hir::Expr*>{bits});
}

hir::Expr* TargetBinder::to_long(const Place& original, Range range) {
    std::optional<Place> place = without_references(original, range);
    if (!place)
        return nullptr;
    const Type* type = strip(place->type);
    std::string name = type_name(place->type);
    switch (type ? type->kind : Type::Void) {
    case Type::Integer:
    case Type::Boolean:
    case Type::Character:
    case Type::Enum:
    case Type::Pointer:
    case Type::Reference:
        return load(*place, range);
    case Type::Array:
    case Type::Function:
        if (hir::Expr* address = address_of(*place))
            return address;
        return fail(DiagId::VariableUnavailable, range,
                    fmt::format("`{}` is not in memory here, so it has no address", text()));
    case Type::Struct:
    case Type::Union:
        return fail(
            DiagId::TypeMismatch, range, fmt::format("`{}` is a whole `{}`, not a number", text(), name),
            fmt::format("write `{}$` for its text, `&{}` for its address, or `{}->MEMBER`", text(), text(), text()));
    case Type::Float:
        return double_bits(*place, range);
    default:
        return fail(DiagId::TypeMismatch, range, fmt::format("`{}` is `{}`, which has no value", text(), name));
    }
}

} // namespace sonde
