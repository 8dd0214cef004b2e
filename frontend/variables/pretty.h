// `$x$` and `$x$$`: prints a value, for example `{.a=1, .b={...}, .c="..."}`.
#pragma once

#include "frontend/variables/place.h"
#include "frontend/variables/text.h"

namespace sonde {

// The depth of a part within the printed value, and whether its own parts are printed.
struct Level {
    bool deep = false; // `$$`: print all levels; otherwise only the first one
    int depth = 0;
    int loops = 0; // number of loops around the current part

    bool is_open() const { return depth == 0 || deep; }
    Level inside() const { return {deep, depth + 1, loops}; }
    // For the target of an owning pointer in a value. It counts as several levels, so that a chain or tree of them ends
    // soon.
    Level behind_pointer() const { return {deep, depth == 0 ? 0 : depth + 8, loops}; }
    Level inside_loop() const { return {deep, depth + 1, loops + 1}; }
};

// The text of the whole expression.
hir::Expr* pretty_text(Binding& b);
// Adds a place's text; saves it at the function's entry if the place is valid only there.
void add_value(Binding& b, Text& text, Place place, bool deep);

// For languages (language.h): a part's text. Parts that cannot be read become `?` without a report.
void add_pretty(Binding& b, Text& text, const Place& place, Level level);
hir::Expr* text_of(Binding& b, const Place& place, Level level);
// Members and elements as in C, whatever the type's name is.
void add_record(Binding& b, Text& text, const Place& place, Level level);
void add_array(Binding& b, Text& text, const Place& place, Level level);

} // namespace sonde
