// The C++ standard library libc++ (`std::__1`, LLVM; Debian: libc++-19-dev). A member can be in a pair with an
// allocator or a comparator, in which its name is `__value_`.
#include <string>
#include <string_view>
#include <utility>

#include "frontend/variables/containers.h"
#include "frontend/variables/language.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/loops.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

namespace {

// A string is one of two records in the same bytes. A bit in the first byte decides which one:
//
//     long    __is_long_: 1 bit, __cap_: 63 bits; __size_; __data_, a pointer
//     short   __is_long_: 1 bit, __size_: 7 bits; __data_, up to 23 bytes in the object itself
bool add_string(Binding& b, Text& text, const Place& place) {
    if (size_of(template_argument(place.type, 0)) != 1)
        return false;
    if (hir::Expr* data = field_value(b, place, "__data_"))
        return add_bytes(b, text, data, field_value(b, place, "__size_"));
    for (const std::string in : {"__r_.__value_.", "__rep_."}) {
        hir::Expr* is_long = field_value(b, place, in + "__s.__is_long_");
        hir::Expr* size = field_value(b, place, in + "__s.__size_");
        hir::Expr* long_size = field_value(b, place, in + "__l.__size_");
        hir::Expr* data = field_value(b, place, in + "__l.__data_");
        std::optional<Place> inside = field(b, place, in + "__s.__data_");
        if (!size || !long_size || !data || !inside || !inside->address)
            continue;
        if (!is_long) { // before LLVM 15
            is_long = b.binary(BinaryOp::And, size, b.number(1));
            size = b.binary(BinaryOp::Shr, size, b.number(1));
        }
        return add_bytes(b, text, b.ternary(is_long, data, address_of(b, *inside)),
                         b.ternary(is_long, long_size, size));
    }
    return false;
}

// The nodes of a tree or hash table. The allocator's template argument is their type. `__value_` is the element; for
// maps, it contains a pair.
std::optional<Nodes> find_nodes(Binding& b, const Place& place, const char* allocators, const char* first,
                                const char* count, bool is_map) {
    std::optional<Place> allocator = field(b, place, allocators);
    const Type* node = allocator ? template_argument(template_argument(allocator->type, 1), 0) : nullptr;
    if (!node)
        return std::nullopt;
    complete(strip(node));
    std::optional<TypeMember> value = find_member(node, "__value_");
    std::optional<TypeMember> pair = value && is_map ? find_member(value->type, "__cc_") : std::nullopt;
    Nodes nodes;
    nodes.first = field_value(b, place, first);
    nodes.count = field_value(b, place, count);
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

bool add_ordered(Binding& b, Text& text, const Place& place, bool is_map, Level level) {
    std::optional<Nodes> nodes =
        find_nodes(b, place, "__tree_.__pair1_", "__tree_.__begin_node_", "__tree_.__pair3_.__value_", is_map);
    if (!nodes || nodes->left < 0 || nodes->right < 0 || nodes->parent < 0)
        return false;
    return add_tree(b, text, *nodes, is_map ? NodesAre::Map : NodesAre::Set, level);
}

bool add_unordered(Binding& b, Text& text, const Place& place, bool is_map, Level level) {
    std::optional<Nodes> nodes =
        find_nodes(b, place, "__table_.__p1_", "__table_.__p1_.__value_.__next_", "__table_.__p2_.__value_", is_map);
    if (!nodes || nodes->next < 0)
        return false;
    return add_chain(b, text, *nodes, is_map ? NodesAre::Map : NodesAre::Set, level);
}

bool add_pointer(Binding& b, Text& text, const Place& place, Level level) {
    const std::optional<Place> target = pointee_of(b, place);
    return target && add_optional(b, text, target->address, *target, level.behind_pointer());
}

bool add_libcxx(Binding& b, Text& text, const Place& place, Level level) {
    std::string_view name = template_name(place.type);
    if (name == "pair")
        return add_pair(b, text, place, level);
    if (name == "basic_string" || name == "basic_string_view")
        return add_string(b, text, place);
    if (name == "vector")
        return add_sequence(b, text, elements_of(b, place), level);
    if (name == "optional") {
        hir::Expr* engaged = field_value(b, place, "__engaged_");
        std::optional<Place> value = field(b, place, "__val_");
        return engaged && value && add_optional(b, text, engaged, *value, level);
    }
    if (name == "unique_ptr" || name == "shared_ptr")
        return add_pointer(b, text, place, level);
    bool is_map = name.ends_with("map");
    if (name == "map" || name == "multimap" || name == "set" || name == "multiset")
        return add_ordered(b, text, place, is_map, level);
    if (name == "unordered_map" || name == "unordered_multimap" || name == "unordered_set" ||
        name == "unordered_multiset")
        return add_unordered(b, text, place, is_map, level);
    return false;
}

} // namespace

const Language libcxx_language = {.owns = [](const Type& record) { return libcxx.owns(record); }, .add = add_libcxx};

} // namespace sonde
