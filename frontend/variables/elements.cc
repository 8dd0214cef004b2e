#include "frontend/variables/elements.h"

#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

namespace {

// Rust must be last: it recognizes types by their members, not by their scope.
const LibraryTypes* const libraries[] = {&libcxx, &libstdcxx, &rust_library};

// Null: no library owns the type.
const LibraryTypes* owner_of(const Type* type) {
    type = strip(type);
    if (!is_record(type))
        return nullptr;
    complete(type);
    for (const LibraryTypes* library : libraries)
        if (library->owns(*type))
            return library;
    return nullptr;
}

// A slice of Go, or the bytes of a string.
Sequence go_elements(Binding& b, const Place& place) {
    std::optional<Place> first = field(b, place, strip(place.type)->go_kind == Type::GoString ? "str" : "array");
    const Type* pointer = first ? strip(first->type) : nullptr;
    if (!pointer || pointer->kind != Type::Pointer)
        return {};
    return {load(b, *first, b.expr.range), field_value(b, place, "len"), pointer->target};
}

} // namespace

Sequence::operator bool() const { return first && size_of(element) != 0 && !position == !capacity; }

Sequence elements_of(Binding& b, const Place& place) {
    if (const Type* type = strip(place.type); type && type->go_kind != Type::NotGo)
        return go_elements(b, place);
    const LibraryTypes* library = owner_of(place.type);
    return library ? library->elements(b, place) : Sequence();
}

std::optional<Place> pointee_of(Binding& b, const Place& place) {
    const LibraryTypes* library = owner_of(place.type);
    return library ? library->pointee(b, place) : std::nullopt;
}

std::optional<Place> element_at(Binding& b, const Sequence& sequence, hir::Expr* index, const std::string& written) {
    if (sequence.count && b.binder.call)
        index = b.binder.call("__element_number", {index, sequence.count, b.string(written)});
    if (!index)
        return std::nullopt;
    // A count above the capacity would be damaged memory: the remainder is a place in the ring in any case.
    if (sequence.position)
        index = b.binary(BinaryOp::Mod, b.binary(BinaryOp::Add, sequence.position, index), sequence.capacity);
    hir::Expr* distance = b.binary(BinaryOp::Mul, index, b.number(static_cast<int64_t>(size_of(sequence.element))));
    return object_at(b.binary(BinaryOp::Add, sequence.first, distance), sequence.element);
}

std::optional<Place> optional_value(Binding& b, hir::Expr* has_value, const std::optional<Place>& value) {
    hir::Expr* address = value ? address_of(b, *value) : nullptr;
    if (!has_value || !address || !b.binder.call)
        return std::nullopt;
    return object_at(b.binder.call("__optional_value", {address, has_value, b.string(b.as_written())}), value->type);
}

} // namespace sonde
