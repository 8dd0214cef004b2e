// Prints types of libraries by their structure, whatever their members' names are: a sequence, a chain, a tree, a pair,
// an optional value. Functions that return false have added nothing: the type does not have the expected layout.
#pragma once

#include <cstdint>

#include "frontend/variables/elements.h"
#include "frontend/variables/pretty.h"

namespace sonde {

// `[a, b]`
bool add_sequence(Binding& b, Text& text, const Sequence& sequence, Level level);
// `(value)` if the condition is true, otherwise `()`.
bool add_optional(Binding& b, Text& text, hir::Expr* condition, const Place& value, Level level);
// `(a, b)`: members `first` and `second` of a record.
bool add_pair(Binding& b, Text& text, const Place& place, Level level);

// A container's nodes: the first one, their number, and the offsets of the value and the links in a node. -1 means that
// the link does not exist.
struct Nodes {
    hir::Expr *first = nullptr, *count = nullptr;
    const Type* element = nullptr;
    int64_t value = 0, next = -1, left = -1, right = -1, parent = -1;
};
enum class NodesAre { List, Set, Map }; // printed as `[a, b]`, `{a, b}` or `{key=value}`
// Nodes that are linked by `next`.
bool add_chain(Binding& b, Text& text, const Nodes& nodes, NodesAre what, Level level);
// A balanced tree, printed in order.
bool add_tree(Binding& b, Text& text, const Nodes& nodes, NodesAre what, Level level);

} // namespace sonde
