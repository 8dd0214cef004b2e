// Components of `$x->y[3]`: goes from place to place, through pointers, arrays, references and anonymous members.
#pragma once

#include <cstddef>
#include <optional>

#include "frontend/variables/place.h"

namespace sonde {

// The place to which the first `end` components lead from `place`.
std::optional<Place> walk_components(Binding& b, Place place, size_t end);
// The place to which references lead; `place` itself if it is not a reference.
std::optional<Place> without_references(Binding& b, Place place, Range range);

} // namespace sonde
