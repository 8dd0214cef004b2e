// The C++ standard library libstdc++: the members with a string's bytes, a vector's bounds, or a tree's nodes.
//
// `$v$` for a `std::vector<int>` should print its elements, not three pointers named _M_start, _M_finish and
// _M_end_of_storage. The names of these members are private to the library, but rarely change. Offsets come from the
// debug information. If a member is missing or has another type, a function here returns false, and the value is
// printed as a structure.
//
// The nodes of lists, trees and hash tables need one more step. The links point to a node's base class, which contains
// nothing but links. The value follows it in a derived class, so its offset is computed from its alignment
// (value_offset()).
#include <string_view>
#include <vector>

#include "frontend/variables/containers.h"
#include "frontend/variables/language.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/libstdcxx.h"
#include "frontend/variables/loops.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

namespace {

bool add_string(Binding& b, Text& text, const Place& place, Level) {
    if (size_of(template_argument(place.type, 0)) != 1)
        return false;
    const Sequence characters = elements_of(b, place);
    return add_bytes(b, text, characters.first, characters.count);
}

bool add_vector(Binding& b, Text& text, const Place& place, Level level) {
    std::optional<Place> first = field(b, place, "_M_impl._M_start");
    if (!first || !template_argument(place.type, 0))
        return false;
    if (is_record(first->type)) { // elements are bool, with one bit each
        hir::Expr* begin = field_value(b, place, "_M_impl._M_start._M_p");
        hir::Expr* end = field_value(b, place, "_M_impl._M_finish._M_p");
        hir::Expr* bits = field_value(b, place, "_M_impl._M_finish._M_offset");
        if (!begin || !end || !bits)
            return false;
        Walk walk;
        walk.first = begin;
        walk.count =
            b.binary(BinaryOp::Add, b.binary(BinaryOp::Mul, b.binary(BinaryOp::Sub, end, begin), b.number(8)), bits);
        walk.element = [&](const Cursor& cursor, Level) {
            hir::Expr* byte =
                b.binary(BinaryOp::Add, b.get(cursor.at), b.binary(BinaryOp::Shr, b.get(cursor.index), b.number(3)));
            hir::Expr* bit = b.binary(BinaryOp::Shr, b.make<hir::Load>(b.expr.range, byte, 1u, false),
                                      b.binary(BinaryOp::And, b.get(cursor.index), b.number(7)));
            return b.ternary(b.binary(BinaryOp::And, bit, b.number(1)), b.string("true"), b.string("false"));
        };
        walk.step = [](const Cursor&) {};
        return add_walk(b, text, walk, level);
    }
    return add_sequence(b, text, elements_of(b, place), level);
}

bool add_span(Binding& b, Text& text, const Place& place, Level level) {
    return add_sequence(b, text, elements_of(b, place), level);
}

// A deque consists of blocks of elements, and an array of pointers to the blocks. Its two iterators point to the first
// element and after the last one:
//
//     array of pointers:  _M_start._M_node       ...        _M_finish._M_node
//                               |                                |
//     blocks:             [..AAAAAA]  [AAAAAAAA]  [AAAAAAAA]  [AAA.....]
//                            ^_M_start._M_cur                     ^_M_finish._M_cur
//
// At the end of a block, the walk loads the address of the next block from the array.
bool add_deque(Binding& b, Text& text, const Place& place, Level level) {
    const Type* element = template_argument(place.type, 0);
    hir::Expr* first = field_value(b, place, "_M_impl._M_start._M_cur");
    hir::Expr* begin = field_value(b, place, "_M_impl._M_start._M_first");
    hir::Expr* end = field_value(b, place, "_M_impl._M_start._M_last");
    hir::Expr* node = field_value(b, place, "_M_impl._M_start._M_node");
    hir::Expr* last = field_value(b, place, "_M_impl._M_finish._M_cur");
    hir::Expr* last_begin = field_value(b, place, "_M_impl._M_finish._M_first");
    hir::Expr* last_node = field_value(b, place, "_M_impl._M_finish._M_node");
    auto size = static_cast<int64_t>(size_of(element));
    if (!first || !begin || !end || !node || !last || !last_begin || !last_node || size == 0)
        return false;
    // (full blocks) * (size of a block) + (used part of the last one) - (unused part of the first one)
    hir::Expr* blocks = b.binary(BinaryOp::Div, b.binary(BinaryOp::Sub, last_node, node), b.number(8));
    hir::Expr* bytes = b.binary(BinaryOp::Mul, blocks, b.binary(BinaryOp::Sub, end, begin));
    bytes = b.binary(BinaryOp::Add, bytes, b.binary(BinaryOp::Sub, last, last_begin));
    bytes = b.binary(BinaryOp::Sub, bytes, b.binary(BinaryOp::Sub, first, begin));
    Walk walk;
    walk.first = first;
    walk.count = b.binary(BinaryOp::Div, bytes, b.number(size));
    walk.more = {node, b.binary(BinaryOp::Sub, end, begin), end};
    walk.element = [&](const Cursor& cursor, Level inner) {
        return text_of(b, object_at(b.get(cursor.at), element), inner);
    };
    walk.step = [&](const Cursor& cursor) {
        hir::Local *at = cursor.at, *block = cursor.more[0], *length = cursor.more[1], *block_end = cursor.more[2];
        auto* next = b.make<hir::Block>(b.expr.range);
        next->body.push_back(b.set(block, b.binary(BinaryOp::Add, b.get(block), b.number(8))));
        next->body.push_back(b.set(at, b.make<hir::Load>(b.expr.range, b.get(block), 8u, false)));
        next->body.push_back(b.set(block_end, b.binary(BinaryOp::Add, b.get(at), b.get(length))));
        cursor.body.body.push_back(b.set(at, b.binary(BinaryOp::Add, b.get(at), b.number(size))));
        cursor.body.body.push_back(
            b.make<hir::If>(b.expr.range, b.binary(BinaryOp::Eq, b.get(at), b.get(block_end)), next, nullptr));
    };
    return add_walk(b, text, walk, level);
}

// The nodes of a chain.
std::optional<Nodes> chain_nodes(Binding& b, const Place& first, std::string_view next_member, hir::Expr* count,
                                 const Type* element) {
    const Type* base = target_of(first);
    std::optional<TypeMember> link = find_member(base, next_member);
    if (!count || !link || size_of(element) == 0)
        return std::nullopt;
    Nodes nodes;
    nodes.first = load(b, first, b.expr.range);
    nodes.count = count;
    nodes.element = element;
    nodes.value = value_offset(base, element);
    nodes.next = static_cast<int64_t>(link->byte_offset);
    return nodes;
}

bool add_list(Binding& b, Text& text, const Place& place, Level level) {
    std::optional<Place> first = field(b, place, "_M_impl._M_node._M_next");
    std::optional<Nodes> nodes;
    if (first)
        nodes = chain_nodes(b, *first, "_M_next", field_value(b, place, "_M_impl._M_node._M_size"),
                            template_argument(place.type, 0));
    return nodes && add_chain(b, text, *nodes, NodesAre::List, level);
}

// All elements of a hash table are also in one chain, which begins at _M_before_begin. So the buckets are not needed.
bool add_unordered(Binding& b, Text& text, const Place& place, bool is_map, Level level) {
    std::optional<Place> table = field(b, place, "_M_h");
    std::optional<Place> first = field(b, place, "_M_h._M_before_begin._M_nxt");
    std::optional<Nodes> nodes;
    if (first)
        nodes = chain_nodes(b, *first, "_M_nxt", field_value(b, place, "_M_h._M_element_count"),
                            template_argument(table->type, 1));
    return nodes && add_chain(b, text, *nodes, is_map ? NodesAre::Map : NodesAre::Set, level);
}

// The leftmost node is the first in the order. The header has a link to it.
bool add_ordered(Binding& b, Text& text, const Place& place, bool is_map, Level level) {
    std::optional<Place> tree = field(b, place, "_M_t");
    std::optional<Place> first = field(b, place, "_M_t._M_impl._M_header._M_left");
    const Type* base = target_of(first);
    const Type* element = tree ? template_argument(tree->type, 1) : nullptr;
    std::optional<TypeMember> parent = find_member(base, "_M_parent"), left = find_member(base, "_M_left"),
                              right = find_member(base, "_M_right");
    hir::Expr* count = field_value(b, place, "_M_t._M_impl._M_node_count");
    if (!parent || !left || !right || !count || size_of(element) == 0)
        return false;
    Nodes nodes;
    nodes.first = load(b, *first, b.expr.range);
    nodes.count = count;
    nodes.element = element;
    nodes.value = value_offset(base, element);
    nodes.left = static_cast<int64_t>(left->byte_offset);
    nodes.right = static_cast<int64_t>(right->byte_offset);
    nodes.parent = static_cast<int64_t>(parent->byte_offset);
    return add_tree(b, text, nodes, is_map ? NodesAre::Map : NodesAre::Set, level);
}

bool add_std_optional(Binding& b, Text& text, const Place& place, Level level) {
    hir::Expr* engaged = field_value(b, place, "_M_payload._M_engaged");
    std::optional<Place> value = field(b, place, "_M_payload._M_payload._M_value");
    return engaged && value && add_optional(b, text, engaged, *value, level);
}

bool add_tuple(Binding& b, Text& text, const Place& place, Level level) {
    const std::optional<std::vector<Place>> elements = tuple_elements(b, place);
    if (!elements)
        return false;
    text.literal("(");
    for (size_t i = 0; i < elements->size() && i < most_tuple_elements; i++) {
        text.literal(i == 0 ? "" : ", ");
        add_pretty(b, text, (*elements)[i], level.inside());
    }
    text.literal(elements->size() > most_tuple_elements ? ", ...)" : ")");
    return true;
}

bool add_fixed_array(Binding& b, Text& text, const Place& place, Level level) {
    std::optional<Place> elements = field(b, place, "_M_elems");
    const Type* array = elements ? strip(elements->type) : nullptr;
    if (!array || array->kind != Type::Array)
        return false;
    if (!level.is_open())
        text.literal("[...]");
    else
        add_array(b, text, *elements, level);
    return true;
}

// A pointer to an array has no count of elements, so only the address is printed.
bool add_pointer(Binding& b, Text& text, const Place& place, Level level) {
    std::optional<Place> pointer = owned_pointer(b, place);
    const Type* target = target_of(pointer);
    hir::Expr* address = pointer ? load(b, *pointer, b.expr.range) : nullptr;
    if (!address)
        return false;
    if (size_of(target) == 0 || is_pointer_to_array(place)) {
        text.add_integer(address, 'x', '#');
        return true;
    }
    return add_optional(b, text, address, object_at(address, target), level.behind_pointer());
}

// One of several values. An index tells which one; all begin at the same address.
bool add_variant(Binding& b, Text& text, const Place& place, Level level) {
    std::optional<Place> storage = field(b, place, "_M_u");
    hir::Expr* index = field_value(b, place, "_M_index");
    if (!storage || !index)
        return false;
    hir::Expr* value = b.string("()");
    const std::vector<const Type*>& types = strip(place.type)->arguments;
    for (size_t i = types.size(); i-- > 0;) {
        Place one = *storage;
        one.type = types[i];
        value = b.ternary(b.binary(BinaryOp::Eq, index, b.number(static_cast<int64_t>(i))),
                          text_of(b, one, level.inside()), value);
    }
    text.add(value);
    return true;
}

bool add_libstdcxx(Binding& b, Text& text, const Place& place, Level level) {
    struct Reader {
        std::string_view name;
        bool (*add)(Binding&, Text&, const Place&, Level);
    };
    static constexpr Reader readers[] = {
        {"basic_string", add_string}, {"basic_string_view", add_string},
        {"vector", add_vector},       {"array", add_fixed_array},
        {"span", add_span},           {"deque", add_deque},
        {"list", add_list},           {"pair", add_pair},
        {"tuple", add_tuple},         {"optional", add_std_optional},
        {"variant", add_variant},     {"unique_ptr", add_pointer},
        {"shared_ptr", add_pointer},
    };
    std::string_view name = template_name(place.type);
    for (const Reader& reader : readers)
        if (name == reader.name)
            return reader.add(b, text, place, level);
    bool is_map = name.ends_with("map");
    if (name == "map" || name == "multimap" || name == "set" || name == "multiset")
        return add_ordered(b, text, place, is_map, level);
    if (name == "unordered_map" || name == "unordered_multimap" || name == "unordered_set" ||
        name == "unordered_multiset")
        return add_unordered(b, text, place, is_map, level);
    return false;
}

} // namespace

const Language libstdcxx_language = {.owns = is_libstdcxx, .add = add_libstdcxx};

} // namespace sonde
