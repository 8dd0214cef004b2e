// Parses declarations.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Parses a whole file. After errors the result holds the declarations that could be parsed. Never null.
ast::File* parse_declarations(Parser& p);

} // namespace sonde
