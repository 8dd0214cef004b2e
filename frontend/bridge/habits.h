// Single words of other tracers in a script that is ours otherwise: what to write instead.
#pragma once

#include <string>
#include <string_view>

namespace sonde::bridge {

// Of a function, a name or an operator (`@x`) that is not known; empty if it is nobody's.
std::string function_habit(std::string_view name);
std::string name_habit(std::string_view name);
std::string point_habit(std::string_view first); // of a point's first word
std::string operator_habit(std::string_view name);

} // namespace sonde::bridge
