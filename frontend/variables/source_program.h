// Variables of the probed function, from debug information.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontend/variables/place.h"

namespace sonde {

// Whether the point is in a program with debug information. False after a report.
bool has_module(Binding& b);
// Whether the probed function, tracepoint or hook has a variable of this name (without `$`). Reports nothing.
bool has_variable(const ResolvedPoint& point, std::string_view name);
// The place of a local variable, parameter or global that is visible in the function.
std::optional<Place> named_variable(Binding& b, const std::string& name);
// The location of a variable of the point's function while execution is at `address`. `at_call`: before the function's
// first instructions, otherwise after them.
Location variable_location(const ResolvedPoint& point, const Variable& variable, Address address);
// The place of a variable of the point's module.
std::optional<Place> place_of_variable(Binding& b, const Variable& variable);

} // namespace sonde
