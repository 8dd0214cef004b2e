// Declarations: tokens to trees.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// A whole file; holds what could be read. Never null.
ast::File* parse_declarations(Parser& p);

} // namespace sonde
