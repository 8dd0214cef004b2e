// What stands before the components, where it is no `$name` (sources.h).
#pragma once

#include <optional>

#include "frontend/variables/place.h"

namespace sonde {

// cast.cc: `@cast(expr, "type")`, and `p` in `p->member` where p has got its value from something typed.
std::optional<Place> cast_place(Binding& b);
std::optional<Place> pointer_place(Binding& b);

// global.cc: `@var("name")` and `@var("name@file.c")`.
std::optional<Place> global_place(Binding& b);

// errno.cc: `@var("errno")` in a program or library that has no variable of its own with that name.
bool is_errno(const Binding& b);
std::optional<Place> errno_place(Binding& b);

} // namespace sonde
