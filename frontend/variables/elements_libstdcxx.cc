#include <string_view>
#include <vector>

#include "frontend/variables/layout.h"
#include "frontend/variables/libstdcxx.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

bool is_libstdcxx(const Type& record) {
    return record.scope == "std::" || record.scope.starts_with("std::__") || record.scope == "__gnu_cxx::";
}

const Type* target_of(const std::optional<Place>& pointer) {
    const Type* type = pointer ? strip(pointer->type) : nullptr;
    return type && type->kind == Type::Pointer ? type->target : nullptr;
}

int64_t value_offset(const Type* base, const Type* value) {
    uint64_t alignment = alignment_of(value);
    return static_cast<int64_t>((size_of(base) + alignment - 1) / alignment * alignment);
}

// The elements are nested base classes: `_Head_base<0, ...>` and the rest, `_Tuple_impl<1, ...>`. Compilers can omit
// the template arguments in the names of types (-gsimple-template-names).
std::optional<std::vector<Place>> tuple_elements(Binding& b, const Place& place) {
    std::vector<Place> elements;
    std::optional<Place> rest = place;
    for (size_t level = 0; rest && elements.size() <= most_tuple_elements; level++) {
        const Type* type = strip(rest->type);
        complete(type);
        std::optional<Place> next, head;
        for (const TypeMember& member : type->members) {
            Place part = inside(b, *rest, member);
            const std::string_view name = member.is_base ? template_name(member.type) : "";
            if (name == "_Tuple_impl")
                next = part;
            else if (name == "_Head_base")
                head = field(b, part, "_M_head_impl");
        }
        if (!type->members.empty() && !(level == 0 ? next : head))
            return std::nullopt;
        if (head)
            elements.push_back(*head);
        rest = next;
    }
    return elements;
}

// A unique_ptr keeps its pointer in a tuple with the deleter.
std::optional<Place> owned_pointer(Binding& b, const Place& place) {
    if (std::optional<Place> pointer = field(b, place, "_M_ptr")) // shared_ptr
        return pointer;
    if (std::optional<Place> tuple = field(b, place, "_M_t._M_t"))
        if (std::optional<std::vector<Place>> elements = tuple_elements(b, *tuple); elements && !elements->empty())
            return (*elements)[0];
    return std::nullopt;
}

bool is_pointer_to_array(const Place& place) { return strip(template_argument(place.type, 0))->kind == Type::Array; }

namespace {

Sequence string_elements(Binding& b, const Place& place) {
    const Type* character = template_argument(place.type, 0);
    hir::Expr* data = field_value(b, place, "_M_dataplus._M_p");
    if (!data)
        return {field_value(b, place, "_M_str"), field_value(b, place, "_M_len"), character};
    hir::Expr* length = field_value(b, place, "_M_string_length");
    // The older string (_GLIBCXX_USE_CXX11_ABI=0) has length, capacity and reference count before its characters.
    constexpr int64_t length_before = -24;
    if (!length)
        length = b.make<hir::Load>(b.expr.range, b.binary(BinaryOp::Add, data, b.number(length_before)), 8u, false);
    return {data, length, character};
}

// Of a vector<bool>, which has no pointers to elements: empty.
Sequence vector_elements(Binding& b, const Place& place) {
    const Type* element = template_argument(place.type, 0);
    hir::Expr *begin = field_value(b, place, "_M_impl._M_start"), *end = field_value(b, place, "_M_impl._M_finish");
    const uint64_t size = size_of(element);
    if (!begin || !end || size == 0)
        return {};
    return {begin, b.binary(BinaryOp::Div, b.binary(BinaryOp::Sub, end, begin), b.number(static_cast<int64_t>(size))),
            element};
}

Sequence find_elements(Binding& b, const Place& place) {
    const std::string_view name = template_name(place.type);
    if (name == "vector")
        return vector_elements(b, place);
    if (name == "span")
        return {field_value(b, place, "_M_ptr"), field_value(b, place, "_M_extent._M_extent_value"),
                template_argument(place.type, 0)};
    if (name == "basic_string" || name == "basic_string_view")
        return string_elements(b, place);
    if (name == "array") {
        const std::optional<Place> elements = field(b, place, "_M_elems");
        const Type* array = elements ? strip(elements->type) : nullptr;
        if (array && array->kind == Type::Array && array->count)
            return {address_of(b, *elements), b.number(static_cast<int64_t>(*array->count)), array->target};
    }
    if ((name == "unique_ptr" || name == "shared_ptr") && is_pointer_to_array(place))
        if (const std::optional<Place> pointer = owned_pointer(b, place))
            return {load(b, *pointer, b.expr.range), nullptr, target_of(pointer)};
    return {};
}

// The element to which an iterator points. A node begins with its links, which are a `base`.
std::optional<Place> node_value(Binding& b, const Place& iterator, std::string_view link, std::string_view base) {
    const std::optional<Place> node = field(b, iterator, link);
    const Type* target = target_of(node);
    const Type* value = template_argument(iterator.type, 0);
    if (!target || size_of(value) == 0)
        return std::nullopt;
    complete(strip(target));
    for (const TypeMember& member : strip(target)->members) // a node's type with the element begins with the links
        if (member.is_base && template_name(member.type) == base)
            target = member.type;
    return object_at(b.plus(load(b, *node, b.expr.range), value_offset(target, value)), value);
}

std::optional<Place> find_pointee(Binding& b, const Place& place) {
    const std::string_view name = template_name(place.type);
    std::optional<Place> pointer;
    if (name == "unique_ptr" || name == "shared_ptr")
        pointer = owned_pointer(b, place);
    else if (name == "__normal_iterator") // of a vector or string
        pointer = field(b, place, "_M_current");
    else if (name == "optional")
        return optional_value(b, field_value(b, place, "_M_payload._M_engaged"),
                              field(b, place, "_M_payload._M_payload._M_value"));
    else if (name == "_Rb_tree_iterator" || name == "_Rb_tree_const_iterator") // of a map or set
        return node_value(b, place, "_M_node", "_Rb_tree_node_base");
    else if (name == "_List_iterator" || name == "_List_const_iterator")
        return node_value(b, place, "_M_node", "_List_node_base");
    else if (name == "_Node_iterator" || name == "_Node_const_iterator") // of an unordered map or set
        return node_value(b, place, "_M_cur", "_Hash_node_base");
    const Type* target = target_of(pointer);
    if (size_of(target) == 0)
        return std::nullopt;
    return object_at(load(b, *pointer, b.expr.range), target);
}

} // namespace

const LibraryTypes libstdcxx = {.owns = is_libstdcxx, .elements = find_elements, .pointee = find_pointee};

} // namespace sonde
