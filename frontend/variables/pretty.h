// `$x$` and `$x$$`: a value as text, `{.a=1, .b={...}, .c="..."}`.
#pragma once

#include "frontend/variables/place.h"
#include "frontend/variables/text.h"

namespace sonde {

// How deep in the whole value a part of it is, and whether parts of it are shown there.
struct Level {
    bool deep = false; // `$$`: all levels are shown, else the first one
    int depth = 0;
    int loops = 0; // around what is bound now

    bool is_open() const { return depth == 0 || deep; }
    Level inside() const { return {deep, depth + 1, loops}; }
    // For what an owning pointer inside of a value points at, which counts as many levels, so that a chain or tree of
    // them ends soon.
    Level behind_pointer() const { return {deep, depth == 0 ? 0 : depth + 8, loops}; }
    Level inside_loop() const { return {deep, depth + 1, loops + 1}; }
};

// The text of the whole expression.
hir::Expr* pretty_text(Binding& b);
// A place's text, saved at the function's entry if it holds only there.
void add_value(Binding& b, Text& text, Place place, bool deep);

// For languages (language.h): a part's text; what cannot be read is a `?`, and no report.
void add_pretty(Binding& b, Text& text, const Place& place, Level level);
hir::Expr* text_of(Binding& b, const Place& place, Level level);
// Members and elements as C writes them, whatever the type is called.
void add_record(Binding& b, Text& text, const Place& place, Level level);
void add_array(Binding& b, Text& text, const Place& place, Level level);

} // namespace sonde
