// What there is to use, one line each, sorted: for --dump-functions, --dump-probe-aliases and --dump-probe-types.
#pragma once

#include <string>
#include <vector>

#include "frontend/tapset/library.h"

namespace sonde {

// `name:result (parameter:type, ...)`: the library's public functions. `unknown`: what is not declared, and the result
// of those that give none.
std::vector<std::string> describe_functions(Library& library);

// `name = point, point`: the library's public aliases.
std::vector<std::string> describe_aliases(Library& library);

// The forms of probe points, with `string` and `number` for what is given in parentheses.
std::vector<std::string> probe_point_forms();

} // namespace sonde
