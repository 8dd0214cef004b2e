// -p1: trees in the form that readers of SystemTap's listing expect.
#pragma once

#include <string>

#include "frontend/ast/ast.h"

namespace sonde::ast {

// What follows the line with the file's name.
std::string parse_listing(const File& file);

} // namespace sonde::ast
