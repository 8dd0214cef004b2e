// Locations of debug information as places.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/types/location.h"
#include "frontend/variables/place.h"

namespace sonde {

// What the operations leave on top of their stack. Null without a report if they are not well formed, which only a
// broken location can be.
hir::Expr* evaluate(Binding& b, const std::vector<LocationOp>& ops);
// "`$x` is not available here: it was optimized out". `why` is a Location's: what a sentence says of "it".
std::string unavailable_text(const std::string& name, const std::string& why);
// Reports nothing: `why` gets the reason when there is no place.
std::optional<Place> place_at(Binding& b, const Location& location, const Type* type, std::string& why);

} // namespace sonde
