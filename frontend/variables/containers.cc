// The functions build loops in HIR (loops.h), because the number of elements is known only at run time. They know
// shapes, not libraries: a caller passes the offsets of the links in a node.
//
// A script may stop the program in the middle of an update, or a pointer may be wild, so no loop may trust the data.
// The element count limits each walk (add_walk), a step limit ends the search in a corrupt tree, and a failed read ends
// the text with `?`.
#include "frontend/variables/containers.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/variables/layout.h"
#include "frontend/variables/loops.h"
#include "frontend/variables/reading.h"

namespace sonde {

using hir::BinaryOp;

namespace {

// An element of a ring. `other` is its place. A place outside of the ring means that the memory is not a ring.
hir::Expr* ring_element(Binding& b, const Type* element, const Cursor& cursor, Level level) {
    hir::Local *start = cursor.more[0], *capacity = cursor.more[1], *place = cursor.other;
    hir::Expr* is_outside = b.binary(BinaryOp::Ge, b.get(place), b.get(capacity));
    hir::Stmt* wrap = b.set(place, b.binary(BinaryOp::Sub, b.get(place), b.get(capacity)));
    cursor.body.body.push_back(b.set(place, b.binary(BinaryOp::Add, b.get(start), b.get(cursor.index))));
    cursor.body.body.push_back(b.make<hir::If>(b.expr.range, is_outside, wrap, nullptr));
    hir::Expr* distance = b.binary(BinaryOp::Mul, b.get(place), b.number(static_cast<int64_t>(size_of(element))));
    hir::Expr* shown = text_of(b, object_at(b.binary(BinaryOp::Add, b.get(cursor.at), distance), element), level);
    hir::Expr* is_inside = b.make<hir::Logical>(b.expr.range, true, b.binary(BinaryOp::Ge, b.get(place), b.number(0)),
                                                b.binary(BinaryOp::Lt, b.get(place), b.get(capacity)));
    return b.ternary(is_inside, shown, b.string("?"));
}

} // namespace

bool add_sequence(Binding& b, Text& text, const Sequence& sequence, Level level) {
    if (!sequence || !sequence.count)
        return false;
    Walk walk;
    walk.first = sequence.first;
    walk.count = sequence.count;
    if (sequence.position) {
        walk.more = {sequence.position, sequence.capacity};
        walk.element = [&](const Cursor& cursor, Level inner) {
            return ring_element(b, sequence.element, cursor, inner);
        };
        walk.step = [](const Cursor&) {};
        return add_walk(b, text, walk, level);
    }
    walk.element = [&](const Cursor& cursor, Level inner) {
        return text_of(b, object_at(b.get(cursor.at), sequence.element), inner);
    };
    walk.step = [&](const Cursor& cursor) {
        const auto size = static_cast<int64_t>(size_of(sequence.element));
        cursor.body.body.push_back(b.set(cursor.at, b.binary(BinaryOp::Add, b.get(cursor.at), b.number(size))));
    };
    return add_walk(b, text, walk, level);
}

// `condition ? (value) : ()`
bool add_optional(Binding& b, Text& text, hir::Expr* condition, const Place& value, Level level) {
    Text inner;
    inner.literal("(");
    add_pretty(b, inner, value, level);
    inner.literal(")");
    text.add(b.ternary(condition, std::move(inner).finish(b), b.string("()")));
    return true;
}

bool add_pair(Binding& b, Text& text, const Place& place, Level level) {
    std::optional<Place> first = field(b, place, "first"), second = field(b, place, "second");
    if (!first || !second)
        return false;
    text.literal("(");
    add_pretty(b, text, *first, level.inside());
    text.literal(", ");
    add_pretty(b, text, *second, level.inside());
    text.literal(")");
    return true;
}

namespace {

hir::Expr* element_text(Binding& b, const Place& element, NodesAre what, Level level) {
    const bool is_map = what == NodesAre::Map;
    std::optional<Place> key = is_map ? field(b, element, "first") : std::nullopt;
    std::optional<Place> value = is_map ? field(b, element, "second") : std::nullopt;
    if (!key || !value)
        return text_of(b, element, level);
    Text text;
    add_pretty(b, text, *key, level);
    text.literal("=");
    add_pretty(b, text, *value, level);
    return std::move(text).finish(b);
}

} // namespace

bool add_chain(Binding& b, Text& text, const Nodes& nodes, NodesAre what, Level level) {
    Walk walk;
    walk.open = what == NodesAre::List ? "[" : "{";
    walk.close = what == NodesAre::List ? "]" : "}";
    walk.first = nodes.first;
    walk.count = nodes.count;
    walk.element = [&](const Cursor& cursor, Level inner) {
        return element_text(b, object_at(b.plus(b.get(cursor.at), nodes.value), nodes.element), what, inner);
    };
    walk.step = [&](const Cursor& cursor) {
        hir::Expr* next = b.plus(b.get(cursor.at), nodes.next);
        cursor.body.body.push_back(b.set(cursor.at, b.make<hir::Load>(b.expr.range, next, 8u, false)));
    };
    return add_walk(b, text, walk, level);
}

// A balanced tree. The next node in order is the leftmost node below the right child. Without a right child, it is the
// first ancestor that is reached from its left side.
bool add_tree(Binding& b, Text& text, const Nodes& nodes, NodesAre what, Level level) {
    Walk walk;
    walk.open = "{";
    walk.close = "}";
    walk.first = nodes.first;
    walk.count = nodes.count;
    walk.element = [&](const Cursor& cursor, Level inner) {
        return element_text(b, object_at(b.plus(b.get(cursor.at), nodes.value), nodes.element), what, inner);
    };
    walk.step = [&](const Cursor& cursor) {
        constexpr int64_t max_height = 128;
        Range range = b.expr.range;
        hir::Local *at = cursor.at, *next = cursor.other;
        auto link_at = [&](hir::Local* node, int64_t link) {
            return b.make<hir::Load>(range, b.plus(b.get(node), link), 8u, false);
        };
        // `steps` limits the time for a corrupt tree.
        auto repeat = [&](hir::Expr* condition, std::vector<hir::Stmt*> body) {
            auto* loop = b.make<hir::Loop>(range);
            loop->condition = b.make<hir::Logical>(range, true, condition,
                                                   b.binary(BinaryOp::Lt, b.get(cursor.steps), b.number(max_height)));
            auto* block = b.make<hir::Block>(range);
            block->body = std::move(body);
            block->body.push_back(b.set(cursor.steps, b.binary(BinaryOp::Add, b.get(cursor.steps), b.number(1))));
            loop->body = block;
            return loop;
        };
        auto* down = b.make<hir::Block>(range);
        down->body = {b.set(at, b.get(next)), b.set(next, link_at(at, nodes.left)),
                      repeat(b.get(next), {b.set(at, b.get(next)), b.set(next, link_at(at, nodes.left))})};
        auto* up = b.make<hir::Block>(range);
        up->body = {b.set(next, link_at(at, nodes.parent)),
                    repeat(b.binary(BinaryOp::Eq, b.get(at), link_at(next, nodes.right)),
                           {b.set(at, b.get(next)), b.set(next, link_at(at, nodes.parent))}),
                    b.set(at, b.get(next))};
        cursor.body.body.push_back(b.set(cursor.steps, b.number(0)));
        cursor.body.body.push_back(b.set(next, link_at(at, nodes.right)));
        cursor.body.body.push_back(b.make<hir::If>(range, b.get(next), down, up));
    };
    return add_walk(b, text, walk, level);
}

} // namespace sonde
