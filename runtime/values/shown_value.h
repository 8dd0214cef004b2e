// The text of a variable (`$x$`) that a script prints with `%v`. The type of the variable is known from its form:
//
//     text           printed      JSON
//     42             42           42
//     1.250000       1.250000     1.25
//     "tea\t\u00E9"  tea\t\u00E9   "tea<tab>\u00e9"
//     true           true         true
//     {.id=7}        {.id=7}      "{.id=7}"
#pragma once

#include <string>

#include "runtime/text/json.h"

namespace sonde {

// Removes the quotes of a string. Its escape sequences remain, so it cannot control a terminal.
std::string unquoted_value(std::string text);

// A number becomes a number and a string its bytes, without escape sequences. A string that was cut ends with `...`.
// Everything else is the text itself.
Json shown_value_json(const std::string& text);

} // namespace sonde
