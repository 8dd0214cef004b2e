// What there is to use, one line each, sorted: for --dump-functions and --dump-probe-aliases.
#pragma once

#include <string>
#include <vector>

#include "frontend/tapset/library.h"

namespace sonde {

// `name:result (parameter:type, ...) /* tag */`: the library's public functions. `unknown`: what is not declared, and
// the result of those that give none. `all`: those of the library's own too, and all tags (tags.h).
std::vector<std::string> describe_functions(Library& library, bool all);

// `name = point, point`: the library's public aliases.
std::vector<std::string> describe_aliases(Library& library);

} // namespace sonde
