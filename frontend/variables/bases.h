// Finds the place of a target expression's base if it is not `$name` (for `$name`, see sources.h).
#pragma once

#include <optional>

#include "frontend/variables/place.h"

namespace sonde {

// cast.cc: `@cast(expr, "type")`, and `p` in `p->member` if p got its value from a typed place.
std::optional<Place> cast_place(Binding& b);
std::optional<Place> pointer_place(Binding& b);

// global.cc: `@var("name")` and `@var("name@file.c")`.
std::optional<Place> global_place(Binding& b);

// errno.cc: `@var("errno")` in a program or library without its own variable of this name.
bool is_errno(const Binding& b);
std::optional<Place> errno_place(Binding& b);

} // namespace sonde
