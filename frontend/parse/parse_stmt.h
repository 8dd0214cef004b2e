// Statements: tokens to trees.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Null, or a block and `failed`, after an error that ends the declaration.
ast::BlockStmt* parse_block(Parser& p);
// (e), after `keyword`. Null after an error.
ast::Expr* parse_condition(Parser& p, std::string_view keyword);

} // namespace sonde
