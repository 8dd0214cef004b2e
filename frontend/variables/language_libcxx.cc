// C++'s standard library as libc++ lays it out (`std::__1`, LLVM's; Debian: libc++-19-dev). Members that are never
// empty lie in a pair with an allocator or a comparison, whose `__value_` they are.
#include "frontend/variables/binding.h"

namespace sonde {

using hir::BinaryOp;

namespace {

const Type* argument(const Type* type, size_t index) {
    type = strip(type);
    return type && index < type->arguments.size() ? type->arguments[index] : nullptr;
}

} // namespace

// Short ones lie in the object itself, which a bit says.
bool TargetBinder::add_libcxx_string(Text& text, const Place& place) {
    if (size_of(argument(place.type, 0)) != 1)
        return false;
    if (hir::Expr* data = field_value(place, "__data_"))
        return add_bytes(text, data, field_value(place, "__size_"));
    for (const std::string in : {"__r_.__value_.", "__rep_."}) {
        hir::Expr* is_long = field_value(place, in + "__s.__is_long_");
        hir::Expr* size = field_value(place, in + "__s.__size_");
        hir::Expr* long_size = field_value(place, in + "__l.__size_");
        hir::Expr* data = field_value(place, in + "__l.__data_");
        std::optional<Place> inside = field(place, in + "__s.__data_");
        if (!size || !long_size || !data || !inside || !inside->address)
            continue;
        if (!is_long) { // before LLVM 15
            is_long = binary(BinaryOp::And, size, number(1));
            size = binary(BinaryOp::Shr, size, number(1));
        }
        return add_bytes(text, make<hir::Ternary>(expr_.range, is_long, data, address_of(*inside)),
                         make<hir::Ternary>(expr_.range, is_long, long_size, size));
    }
    return false;
}

// A tree's or a hash table's nodes, whose type their allocator tells: `__value_` is the element, for maps with a pair
// in it.
std::optional<TargetBinder::Nodes> TargetBinder::libcxx_nodes(const Place& place, const char* allocators,
                                                              const char* first, const char* count, bool is_map) {
    std::optional<Place> allocator = field(place, allocators);
    const Type* node = allocator ? argument(argument(allocator->type, 1), 0) : nullptr;
    if (!node)
        return std::nullopt;
    complete(strip(node));
    std::optional<TypeMember> value = find_member(node, "__value_");
    std::optional<TypeMember> pair = value && is_map ? find_member(value->type, "__cc_") : std::nullopt;
    Nodes nodes;
    nodes.first = field_value(place, first);
    nodes.count = field_value(place, count);
    if (!nodes.first || !nodes.count || !value || (is_map && !pair))
        return std::nullopt;
    nodes.element = pair ? pair->type : value->type;
    nodes.value = static_cast<int64_t>(value->byte_offset + (pair ? pair->byte_offset : 0));
    if (size_of(nodes.element) == 0)
        return std::nullopt;
    for (auto [name, link] : {std::pair("__next_", &nodes.next), std::pair("__left_", &nodes.left),
                              std::pair("__right_", &nodes.right), std::pair("__parent_", &nodes.parent)})
        if (std::optional<TypeMember> found = find_member(node, name))
            *link = static_cast<int64_t>(found->byte_offset);
    return nodes;
}

bool TargetBinder::add_libcxx_tree(Text& text, const Place& place, bool is_map, bool deep, int depth) {
    std::optional<Nodes> nodes =
        libcxx_nodes(place, "__tree_.__pair1_", "__tree_.__begin_node_", "__tree_.__pair3_.__value_", is_map);
    if (!nodes || nodes->left < 0 || nodes->right < 0 || nodes->parent < 0)
        return false;
    return add_cxx_nodes(text, *nodes, is_map, deep, depth);
}

bool TargetBinder::add_libcxx_hash(Text& text, const Place& place, bool is_map, bool deep, int depth) {
    std::optional<Nodes> nodes =
        libcxx_nodes(place, "__table_.__p1_", "__table_.__p1_.__value_.__next_", "__table_.__p2_.__value_", is_map);
    if (!nodes || nodes->next < 0)
        return false;
    return add_cxx_chain(text, *nodes, false, is_map, deep, depth);
}

bool TargetBinder::add_libcxx_pointer(Text& text, const Place& place, bool deep, int depth) {
    std::optional<Place> pointer = field(place, "__ptr_"); // shared_ptr
    if (pointer && is_record(pointer->type))
        pointer = field(place, "__ptr_.__value_");
    const Type* type = pointer ? strip(pointer->type) : nullptr;
    const Type* target = type && type->kind == Type::Pointer ? type->target : nullptr;
    hir::Expr* address = pointer ? load(*pointer, expr_.range) : nullptr;
    if (!address || size_of(target) == 0 || strip(argument(place.type, 0))->kind == Type::Array)
        return false;
    return add_optional(text, address, object_at(address, target), deep, depth == 0 ? 0 : depth + levels_of_a_pointer);
}

bool TargetBinder::add_libcxx(Text& text, const Place& place, const std::string& name, bool deep, int depth) {
    const Type* element = argument(place.type, 0);
    if (name == "basic_string" || name == "basic_string_view")
        return add_libcxx_string(text, place);
    if (name == "vector") {
        hir::Expr *begin = field_value(place, "__begin_"), *end = field_value(place, "__end_");
        auto size = static_cast<int64_t>(size_of(element));
        return begin && end && size != 0 &&
               add_sequence(text, begin, binary(BinaryOp::Div, binary(BinaryOp::Sub, end, begin), number(size)),
                            element, deep, depth);
    }
    if (name == "optional") {
        hir::Expr* engaged = field_value(place, "__engaged_");
        std::optional<Place> value = field(place, "__val_");
        return engaged && value && add_optional(text, engaged, *value, deep, depth);
    }
    if (name == "unique_ptr" || name == "shared_ptr")
        return add_libcxx_pointer(text, place, deep, depth);
    bool is_map = name.ends_with("map");
    if (name == "map" || name == "multimap" || name == "set" || name == "multiset")
        return add_libcxx_tree(text, place, is_map, deep, depth);
    if (name == "unordered_map" || name == "unordered_multimap" || name == "unordered_set" ||
        name == "unordered_multiset")
        return add_libcxx_hash(text, place, is_map, deep, depth);
    return false;
}

} // namespace sonde
