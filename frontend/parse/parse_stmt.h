// Parses statements.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Parses a block. After an error that ends the declaration, returns null, or a block while `failed` is set.
ast::BlockStmt* parse_block(Parser& p);
// Parses a condition in parentheses after `keyword`. Returns null after an error.
ast::Expr* parse_condition(Parser& p, std::string_view keyword);

} // namespace sonde
