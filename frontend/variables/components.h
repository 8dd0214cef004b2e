// The components of `$x->y[3]`: from place to place, through pointers, arrays, references and anonymous members.
#pragma once

#include <cstddef>
#include <optional>

#include "frontend/variables/place.h"

namespace sonde {

// Where the first `end` components of the expression lead from its base.
std::optional<Place> walk_components(Binding& b, Place place, size_t end);
// What the references at the place lead to; the place itself if there are none.
std::optional<Place> without_references(Binding& b, Place place, Range range);

} // namespace sonde
