// From the whole expression to its place.
#pragma once

#include <cstddef>
#include <optional>

#include "frontend/variables/place.h"

namespace sonde {

// Where the value of the expression up to (without) component `end` is.
std::optional<Place> find_place(Binding& b, size_t end);
// Where the whole expression's value is, through references.
std::optional<Place> referenced_place(Binding& b);

} // namespace sonde
