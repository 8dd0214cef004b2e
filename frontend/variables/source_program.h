// What debug information says of the probed function's variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontend/variables/place.h"

namespace sonde {

// False after a report: the point is in no program, or that has no debug information.
bool has_module(Binding& b);
// Whether the probed function, tracepoint or hook shows a variable of that name (without `$`). Reports nothing.
bool has_variable(const ResolvedPoint& point, std::string_view name);
// A local variable, parameter or global that the function sees, by its name.
std::optional<Place> named_variable(Binding& b, const std::string& name);
// Where a variable of the point's function is while execution is at `address`, before the function's first instructions
// (`at_call`) or behind them.
Location variable_location(const ResolvedPoint& point, const Variable& variable, Address address);
// Where a variable of the point's module is.
std::optional<Place> place_of_variable(Binding& b, const Variable& variable);

} // namespace sonde
