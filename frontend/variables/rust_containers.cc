// The containers of Rust's library, whose members are private and change between versions. Members are found by name,
// and their offsets come from the debug information. Each text is a walk (loops.h), which the number of elements
// limits.
//
//     LinkedList<T>  head, len; a Node<T> has next and element
//     HashMap<K, V>  a table with open addressing (hashbrown), see below
//     BTreeMap<K, V> root (height and node), length; see below
#include "frontend/variables/rust_containers.h"

#include <utility>

#include "frontend/variables/containers.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/loops.h"
#include "frontend/variables/reading.h"
#include "frontend/variables/rust_types.h"

namespace sonde {

using hir::BinaryOp;

namespace {

// The record to which the pointer in an `Option<NonNull<T>>` points.
const Type* optional_target(Binding& b, const Place& option) {
    std::optional<Place> some = field(b, option, "Some.__0");
    std::optional<Place> pointer = some ? first_pointer(b, *some) : std::nullopt;
    const Type* target = pointer ? strip(strip(pointer->type)->target) : nullptr;
    return is_record(target) ? complete(target) : nullptr;
}

// The first pointer in an `Option<NonNull<T>>`, which is 0 for `None`.
hir::Expr* optional_pointer(Binding& b, const Place& option) {
    std::optional<Place> some = field(b, option, "Some.__0");
    std::optional<Place> pointer = some ? first_pointer(b, *some) : std::nullopt;
    return pointer ? load(b, *pointer, b.expr.range) : nullptr;
}

} // namespace

bool add_rust_list(Binding& b, Text& text, const Place& place, Level level) {
    std::optional<Place> head = field(b, place, "head");
    const Type* node = head ? optional_target(b, *head) : nullptr;
    std::optional<TypeMember> next = find_member(node, "next"), element = find_member(node, "element");
    Nodes nodes;
    nodes.first = node ? optional_pointer(b, *head) : nullptr;
    nodes.count = field_value(b, place, "len");
    if (!nodes.first || !nodes.count || !next || !element || size_of(next->type) != 8)
        return false;
    nodes.element = element->type;
    nodes.value = static_cast<int64_t>(element->byte_offset);
    nodes.next = static_cast<int64_t>(next->byte_offset);
    return add_chain(b, text, nodes, NodesAre::List, level);
}

// A hash table with open addressing. It has a byte for each bucket, whose highest bit is clear if the bucket is used.
// The buckets are before these bytes, in reverse order.
bool add_rust_hash(Binding& b, Text& text, const Place& place, bool is_map, Level level) {
    std::optional<Place> table = field(b, place, is_map ? "base.table" : "base.map.table");
    std::optional<Place> inner = table ? field(b, *table, "table") : std::nullopt;
    std::optional<Place> control = inner ? field(b, *inner, "ctrl") : std::nullopt;
    std::optional<Place> bytes = control ? first_pointer(b, *control) : std::nullopt;
    hir::Expr* first = bytes ? load(b, *bytes, b.expr.range) : nullptr;
    hir::Expr* count = inner ? field_value(b, *inner, "items") : nullptr;
    const Type* element = table && !strip(table->type)->arguments.empty() ? strip(table->type)->arguments[0] : nullptr;
    auto size = static_cast<int64_t>(size_of(element));
    if (!first || !count || size == 0)
        return false;
    Walk walk;
    walk.open = "{";
    walk.close = "}";
    walk.first = first;
    walk.count = count;
    Range range = b.expr.range;
    // `other` is the bucket's index.
    auto skip_empty = [&](const Cursor& cursor) {
        constexpr int64_t max_skipped = 256;
        hir::Expr* byte =
            b.make<hir::Load>(range, b.binary(BinaryOp::Add, b.get(cursor.at), b.get(cursor.other)), 1u, false);
        auto* loop = b.make<hir::Loop>(range);
        loop->condition = b.make<hir::Logical>(range, true, b.binary(BinaryOp::Ge, byte, b.number(128)),
                                               b.binary(BinaryOp::Lt, b.get(cursor.steps), b.number(max_skipped)));
        auto* block = b.make<hir::Block>(range);
        block->body = {b.set(cursor.other, b.binary(BinaryOp::Add, b.get(cursor.other), b.number(1))),
                       b.set(cursor.steps, b.binary(BinaryOp::Add, b.get(cursor.steps), b.number(1)))};
        loop->body = block;
        cursor.body.body.push_back(b.set(cursor.steps, b.number(0)));
        cursor.body.body.push_back(loop);
    };
    walk.element = [&](const Cursor& cursor, Level inner) {
        skip_empty(cursor);
        hir::Expr* distance =
            b.binary(BinaryOp::Mul, b.binary(BinaryOp::Add, b.get(cursor.other), b.number(1)), b.number(size));
        Place bucket = object_at(b.binary(BinaryOp::Sub, b.get(cursor.at), distance), element);
        std::optional<Place> key = field(b, bucket, "__0"), value = field(b, bucket, "__1");
        if (!key || !value)
            return text_of(b, bucket, inner);
        Text pair;
        add_pretty(b, pair, *key, inner);
        if (is_map) {
            pair.literal("=");
            add_pretty(b, pair, *value, inner);
        }
        return std::move(pair).finish(b);
    };
    walk.step = [&](const Cursor& cursor) {
        cursor.body.body.push_back(b.set(cursor.other, b.binary(BinaryOp::Add, b.get(cursor.other), b.number(1))));
    };
    return add_walk(b, text, walk, level);
}

// A B-tree. The root's height is 0 if it is a leaf.
//
//     LeafNode<K, V>      parent, parent_idx, len, keys and vals: arrays of 11
//     InternalNode<K, V>  data (a LeafNode), edges: an array of 12 pointers to the nodes between the keys
//
// The walk's state is a position before an edge or key: a node, its height, and an index. To find the next element in
// order, go down to the leaf at that edge, then up while the index is behind the last key.
namespace {

struct TreeLayout {
    int64_t parent, parent_index, length, keys, values, edges;
};

std::optional<TreeLayout> tree_layout(Binding& b, const Type* leaf) {
    std::optional<TypeMember> parent = find_member(leaf, "parent"), index = find_member(leaf, "parent_idx"),
                              length = find_member(leaf, "len"), keys = find_member(leaf, "keys"),
                              values = find_member(leaf, "vals");
    if (!parent || !index || !length || !keys || !values || size_of(parent->type) != 8 || size_of(index->type) != 2 ||
        size_of(length->type) != 2)
        return std::nullopt;
    const Type* internal = optional_target(b, object_at(b.number(0), parent->type));
    std::optional<TypeMember> data = find_member(internal, "data"), edges = find_member(internal, "edges");
    if (!data || data->byte_offset != 0 || !edges || strip(edges->type)->kind != Type::Array ||
        size_of(strip(edges->type)->target) != 8)
        return std::nullopt;
    return TreeLayout{.parent = static_cast<int64_t>(parent->byte_offset),
                      .parent_index = static_cast<int64_t>(index->byte_offset),
                      .length = static_cast<int64_t>(length->byte_offset),
                      .keys = static_cast<int64_t>(keys->byte_offset),
                      .values = static_cast<int64_t>(values->byte_offset),
                      .edges = static_cast<int64_t>(edges->byte_offset)};
}

// Adds statements that go to the next key.
void find_key(Binding& b, const TreeLayout& layout, const Cursor& cursor) {
    constexpr int64_t most_steps = 64; // more than twice the height of any tree
    const Range range = b.expr.range;
    hir::Local *node = cursor.at, *index = cursor.other, *height = cursor.more[0];
    auto load_at = [&](hir::Expr* address, int64_t offset, uint32_t size) {
        return b.make<hir::Load>(range, b.plus(address, offset), size, false);
    };
    auto repeat = [&](hir::Expr* condition, std::vector<hir::Stmt*> body) {
        auto* loop = b.make<hir::Loop>(range);
        loop->condition = b.make<hir::Logical>(range, true, condition,
                                               b.binary(BinaryOp::Lt, b.get(cursor.steps), b.number(most_steps)));
        auto* block = b.make<hir::Block>(range);
        block->body = std::move(body);
        block->body.push_back(b.set(cursor.steps, b.binary(BinaryOp::Add, b.get(cursor.steps), b.number(1))));
        loop->body = block;
        cursor.body.body.push_back(loop);
    };
    cursor.body.body.push_back(b.set(cursor.steps, b.number(0)));
    hir::Expr* edge = b.binary(BinaryOp::Add, b.get(node), b.binary(BinaryOp::Mul, b.get(index), b.number(8)));
    repeat(b.binary(BinaryOp::Gt, b.get(height), b.number(0)),
           {b.set(node, load_at(edge, layout.edges, 8)), b.set(index, b.number(0)),
            b.set(height, b.binary(BinaryOp::Sub, b.get(height), b.number(1)))});
    repeat(b.binary(BinaryOp::Ge, b.get(index), load_at(b.get(node), layout.length, 2)),
           {b.set(index, load_at(b.get(node), layout.parent_index, 2)),
            b.set(node, load_at(b.get(node), layout.parent, 8)),
            b.set(height, b.binary(BinaryOp::Add, b.get(height), b.number(1)))});
}

} // namespace

bool add_rust_tree(Binding& b, Text& text, const Place& place, bool is_map, Level level) {
    std::optional<Place> map = is_map ? std::optional(place) : field(b, place, "map");
    std::optional<Place> root = map ? field(b, *map, "root.Some.__0") : std::nullopt;
    std::optional<Place> pointer = root ? field(b, *root, "node") : std::nullopt;
    pointer = pointer ? first_pointer(b, *pointer) : std::nullopt;
    const Type* leaf = pointer ? strip(strip(pointer->type)->target) : nullptr;
    const Type *key = template_argument(place.type, 0), *value = is_map ? template_argument(place.type, 1) : nullptr;
    hir::Expr *height = root ? field_value(b, *root, "height") : nullptr,
              *count = map ? field_value(b, *map, "length") : nullptr;
    if (!is_record(leaf) || !height || !count || size_of(key) == 0 || (is_map && !value))
        return false;
    std::optional<TreeLayout> layout = tree_layout(b, complete(leaf));
    if (!layout)
        return false;
    Walk walk;
    walk.open = "{";
    walk.close = "}";
    walk.first = load(b, *pointer, b.expr.range);
    walk.count = count;
    walk.more = {height};
    walk.element = [&](const Cursor& cursor, Level inner) {
        find_key(b, *layout, cursor);
        auto entry = [&](int64_t array, const Type* type) {
            hir::Expr* distance =
                b.binary(BinaryOp::Mul, b.get(cursor.other), b.number(static_cast<int64_t>(size_of(type))));
            return object_at(b.binary(BinaryOp::Add, b.plus(b.get(cursor.at), array), distance), type);
        };
        Text pair;
        add_pretty(b, pair, entry(layout->keys, key), inner);
        if (is_map) {
            pair.literal("=");
            add_pretty(b, pair, entry(layout->values, value), inner);
        }
        return std::move(pair).finish(b);
    };
    walk.step = [&](const Cursor& cursor) {
        cursor.body.body.push_back(b.set(cursor.other, b.binary(BinaryOp::Add, b.get(cursor.other), b.number(1))));
    };
    return add_walk(b, text, walk, level);
}

} // namespace sonde
