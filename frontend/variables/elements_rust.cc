#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"
#include "frontend/variables/rust_types.h"

namespace sonde {

using hir::BinaryOp;

std::string rust_name(const Type* type) { return strip(type)->scope + std::string(template_name(type)); }

bool is_rust_shared(std::string_view name) { return name == "alloc::rc::Rc" || name == "alloc::sync::Arc"; }

bool is_rust_reference(const Type* type) {
    return type && type->kind == Type::Pointer &&
           (type->name.starts_with("&") || type->name.starts_with("alloc::boxed::Box<"));
}

bool is_rust_slice(const Type* type) {
    return (type->name.starts_with('&') || type->name.starts_with('*') ||
            (type->scope + type->name).starts_with("alloc::boxed::Box<")) &&
           find_member(type, "data_ptr");
}

std::optional<Place> first_pointer(Binding& b, const Place& place, int depth) {
    const Type* type = strip(place.type);
    if (type && type->kind == Type::Pointer)
        return place;
    if (!is_record(type) || depth > 8)
        return std::nullopt;
    complete(type);
    for (const TypeMember& member : type->members)
        if (std::optional<Place> found = first_pointer(b, inside(b, place, member), depth + 1))
            return found;
    return std::nullopt;
}

std::optional<Place> wide_rust_pointer(Binding& b, const Place& place, int depth) {
    const Type* type = strip(place.type);
    if (!is_record(type) || depth > 8)
        return std::nullopt;
    complete(type);
    if (find_member(type, "vtable") || find_member(type, "data_ptr"))
        return place;
    for (const TypeMember& member : type->members)
        if (std::optional<Place> found = wide_rust_pointer(b, inside(b, place, member), depth + 1))
            return found;
    return std::nullopt;
}

// The value is stored after its counters.
std::optional<Place> rust_shared_value(Binding& b, const Place& place) {
    std::optional<Place> pointer = first_pointer(b, place);
    hir::Expr* address = pointer ? load(b, *pointer, b.expr.range) : nullptr;
    if (!address)
        return std::nullopt;
    Place counted = object_at(address, strip(pointer->type)->target);
    std::optional<Place> value = field(b, counted, "value");
    return value ? value : field(b, counted, "data");
}

namespace {

// The elements of a slice, or the bytes of a `str`.
Sequence slice_elements(Binding& b, const Place& place) {
    std::optional<Place> data = is_rust_slice(strip(place.type)) ? field(b, place, "data_ptr") : std::nullopt;
    const Type* pointer = data ? strip(data->type) : nullptr;
    if (!pointer || pointer->kind != Type::Pointer)
        return {};
    return {load(b, *data, b.expr.range), field_value(b, place, "length"), pointer->target};
}

Sequence vector_elements(Binding& b, const Place& place) {
    std::optional<Place> buffer = field(b, place, "buf");
    std::optional<Place> data = buffer ? first_pointer(b, *buffer) : std::nullopt;
    return {data ? load(b, *data, b.expr.range) : nullptr, field_value(b, place, "len"),
            template_argument(place.type, 0)};
}

// Before Rust 1.67, a deque had head and tail, and a capacity that is a power of two.
Sequence deque_elements(Binding& b, const Place& place) {
    std::optional<Place> buffer = field(b, place, "buf");
    std::optional<Place> data = buffer ? first_pointer(b, *buffer) : std::nullopt;
    hir::Expr *head = field_value(b, place, "head"), *tail = field_value(b, place, "tail"),
              *count = field_value(b, place, "len"), *capacity = nullptr;
    for (const char* path : {"inner.cap.__0", "inner.cap", "cap.__0", "cap"})
        if (buffer && !capacity)
            capacity = field_value(b, *buffer, path);
    if (!data || !head || !capacity)
        return {};
    if (tail) {
        hir::Expr* mask = b.binary(BinaryOp::Sub, capacity, b.number(1));
        count = b.binary(BinaryOp::And, b.binary(BinaryOp::Sub, head, tail), mask);
        head = tail;
    }
    return {load(b, *data, b.expr.range), count, template_argument(place.type, 0), head, capacity};
}

Sequence find_elements(Binding& b, const Place& place) {
    const std::string name = rust_name(place.type);
    if (name == "alloc::vec::Vec")
        return vector_elements(b, place);
    if (name == "alloc::collections::vec_deque::VecDeque")
        return deque_elements(b, place);
    return slice_elements(b, place);
}

std::optional<Place> find_pointee(Binding& b, const Place& place) {
    return is_rust_shared(rust_name(place.type)) && !wide_rust_pointer(b, place) ? rust_shared_value(b, place)
                                                                                 : std::nullopt;
}

// Rust's types have no common scope, so this accepts what no other library owns.
bool is_rust(const Type&) { return true; }

} // namespace

const LibraryTypes rust_library = {.owns = is_rust, .elements = find_elements, .pointee = find_pointee};

} // namespace sonde
