// The shapes that libraries' types have, whatever their members are called: a sequence, a chain, a tree, a pair, a
// value that may be there. Functions add nothing where they give false: the type is not laid out as expected.
#pragma once

#include <cstdint>

#include "frontend/variables/pretty.h"

namespace sonde {

// `[a, b]`: elements that follow one another in memory.
bool add_sequence(Binding& b, Text& text, hir::Expr* first, hir::Expr* count, const Type* element, Level level);
// `(value)` if the condition holds, else `()`.
bool add_optional(Binding& b, Text& text, hir::Expr* condition, const Place& value, Level level);
// `(a, b)`: a record's `first` and `second`.
bool add_pair(Binding& b, Text& text, const Place& place, Level level);

// A container's nodes: the first one, how many there are, and where in a node its value and its links are.
struct Nodes {
    hir::Expr *first = nullptr, *count = nullptr;
    const Type* element = nullptr;
    int64_t value = 0, next = -1, left = -1, right = -1, parent = -1;
};
enum class NodesAre { List, Set, Map }; // how they are shown: `[a, b]`, `{a, b}`, `{key=value}`
bool add_chain(Binding& b, Text& text, const Nodes& nodes, NodesAre what, Level level);
// A balanced tree, in order.
bool add_tree(Binding& b, Text& text, const Nodes& nodes, NodesAre what, Level level);

} // namespace sonde
