// Lists the library's contents, one line each and sorted, for --dump-functions and --dump-probe-aliases.
#pragma once

#include <string>
#include <vector>

#include "frontend/tapset/library.h"

namespace sonde {

// Returns lines of the form `name:result (parameter:type, ...) /* tag */` for the public functions. A type that is not
// declared, and the result of a function without one, is printed as `unknown`. With `all`, the list includes internal
// functions and all tags (tags.h).
std::vector<std::string> describe_functions(Library& library, bool all);

// Returns lines of the form `name = point, point` for the public aliases.
std::vector<std::string> describe_aliases(Library& library);

} // namespace sonde
