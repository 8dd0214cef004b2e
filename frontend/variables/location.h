// Converts locations of debug information to places.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/machine/location.h"
#include "frontend/variables/place.h"

namespace sonde {

// The result of the operations: the value on top of their stack. Null without a report if they are invalid, which
// happens only in corrupt debug information.
hir::Expr* evaluate(Binding& b, const std::vector<LocationOp>& ops);
// "`$x` is not available here: it was optimized out". `why`: Location::why, which continues a sentence with "it".
std::string unavailable_text(const std::string& name, const std::string& why);
// The place for a location. Reports nothing; if there is no place, `why` gets the reason.
std::optional<Place> place_at(Binding& b, const Location& location, const Type* type, std::string& why);
// The place of a pointer or reference that was optimized out, while the object that it points to can be read
// (Location::pointee). nullopt for other locations.
std::optional<Place> implicit_pointer(Binding& b, const Location& location, const Type* type);

} // namespace sonde
