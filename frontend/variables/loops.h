// Texts of values whose length is known only at run time. Each is built by a function of its own with a loop, for which
// the lowering needs nothing special.
//
// For example, the function for a C++ `std::vector<int>` is about this, with `at` and `count` from the vector's
// members:
//     function f:string(at, count) {
//         out = "["
//         try {
//             while (index < count && index < 16) {
//                 if (index) out .= ", "
//                 out .= sprintf("%i", user_int32(at))
//                 at += 4
//                 index++
//             }
//             if (count > 16) out .= ", ..."
//         } catch { out .= "?" }
//         return out . "]"
//     }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/variables/pretty.h"

namespace sonde {

// The loop's state: `at` is the current position, and `index` the number of elements before it. The other variables are
// for the caller.
struct Cursor {
    hir::Local *at, *index, *other, *steps;
    std::vector<hir::Local*> more;
    hir::Block& body;
};

// A loop over elements.
struct Walk {
    std::string open = "[", close = "]";
    hir::Expr* first = nullptr; // initial value of `at`
    hir::Expr* count = nullptr; // number of elements
    std::vector<hir::Expr*> more;
    std::function<hir::Expr*(const Cursor&, Level)> element; // returns the text of an element
    std::function<void(const Cursor&)> step;                 // adds statements that go to the next element
};

// Functions that return false have added nothing, because the value does not have the expected form.

// Adds `open`, the elements separated by commas, and `close`. Elements that the level does not show become `...`.
bool add_walk(Binding& b, Text& text, const Walk& walk, Level level);
// Adds `count` bytes as a quoted string, or their address if they cannot be read.
bool add_bytes(Binding& b, Text& text, hir::Expr* address, hir::Expr* count);

} // namespace sonde
