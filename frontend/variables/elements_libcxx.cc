#include <string_view>

#include "frontend/variables/elements.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

namespace {

bool is_libcxx(const Type& record) { return record.scope.starts_with("std::__1::"); }

// The object of a shared_ptr or unique_ptr.
std::optional<Place> pointer_target(Binding& b, const Place& place) {
    std::optional<Place> pointer = field(b, place, "__ptr_"); // shared_ptr
    if (pointer && is_record(pointer->type))
        pointer = field(b, place, "__ptr_.__value_");
    const Type* type = pointer ? strip(pointer->type) : nullptr;
    const Type* target = type && type->kind == Type::Pointer ? type->target : nullptr;
    hir::Expr* address = pointer ? load(b, *pointer, b.expr.range) : nullptr;
    if (!address || size_of(target) == 0 || strip(template_argument(place.type, 0))->kind == Type::Array)
        return std::nullopt;
    return object_at(address, target);
}

Sequence find_elements(Binding& b, const Place& place) {
    const std::string_view name = template_name(place.type);
    const Type* element = template_argument(place.type, 0);
    if (name == "array") {
        const std::optional<Place> elements = field(b, place, "__elems_");
        const Type* array = elements ? strip(elements->type) : nullptr;
        return array && array->kind == Type::Array && array->count
                   ? Sequence{address_of(b, *elements), b.number(static_cast<int64_t>(*array->count)), element}
                   : Sequence();
    }
    if (name == "span")
        return {field_value(b, place, "__data_"), field_value(b, place, "__size_"), element};
    hir::Expr *begin = field_value(b, place, "__begin_"), *end = field_value(b, place, "__end_");
    const auto size = static_cast<int64_t>(size_of(element));
    if (name != "vector" || !begin || !end || size == 0) // a vector<bool> has no pointers
        return {};
    return {begin, b.binary(BinaryOp::Div, b.binary(BinaryOp::Sub, end, begin), b.number(size)), element};
}

std::optional<Place> find_pointee(Binding& b, const Place& place) {
    const std::string_view name = template_name(place.type);
    if (name == "unique_ptr" || name == "shared_ptr")
        return pointer_target(b, place);
    if (name == "optional")
        return optional_value(b, field_value(b, place, "__engaged_"), field(b, place, "__val_"));
    if (name == "__wrap_iter") { // of a vector
        const std::optional<Place> at = field(b, place, "__i_");
        const Type* pointer = at ? strip(at->type) : nullptr;
        if (pointer && pointer->kind == Type::Pointer)
            return object_at(load(b, *at, b.expr.range), pointer->target);
    }
    return std::nullopt;
}

} // namespace

const LibraryTypes libcxx = {.owns = is_libcxx, .elements = find_elements, .pointee = find_pointee};

} // namespace sonde
