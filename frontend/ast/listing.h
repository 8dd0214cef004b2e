// Prints trees for -p1, in a form for programs that read SystemTap's listing.
#pragma once

#include <string>

#include "frontend/ast/ast.h"

namespace sonde::ast {

// Prints everything that follows the line with the file's name.
std::string parse_listing(const File& file);

} // namespace sonde::ast
