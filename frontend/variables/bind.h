// Finds the place of a whole target expression.
#pragma once

#include <cstddef>
#include <optional>

#include "frontend/variables/place.h"

namespace sonde {

// The place of the expression up to component `end`, without that one.
std::optional<Place> find_place(Binding& b, size_t end);
// The place of the whole expression, with references followed.
std::optional<Place> referenced_place(Binding& b);

} // namespace sonde
