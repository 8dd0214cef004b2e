// Texts of values whose length is known only when the probe is hit. Each is made by a function of its own, with a loop,
// of which the lowering knows nothing special.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/variables/pretty.h"

namespace sonde {

// The loop's state: `at` is where it is, `index` the elements before; the others are the walk's own.
struct Cursor {
    hir::Local *at, *index, *other, *steps;
    std::vector<hir::Local*> more;
    hir::Block& body;
};

// A loop over elements.
struct Walk {
    std::string open = "[", close = "]";
    hir::Expr* first = nullptr; // `at` in the beginning
    hir::Expr* count = nullptr; // elements
    std::vector<hir::Expr*> more;
    std::function<hir::Expr*(const Cursor&, Level)> element; // its text
    std::function<void(const Cursor&)> step;                 // adds the statements that go to the next one
};

// Functions that give a bool add nothing where they give false: the value is not as expected.

// `open`, the elements with commas between them, `close`; `...` in place of elements that the level does not show.
bool add_walk(Binding& b, Text& text, const Walk& walk, Level level);
// `count` bytes as a string in quotes, or their address where they cannot be read.
bool add_bytes(Binding& b, Text& text, hir::Expr* address, hir::Expr* count);

} // namespace sonde
