// Expressions: tokens to trees.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Any expression, with assignments. Null after an error, as those below.
ast::Expr* parse_expr(Parser& p);
// What begins with a name: a variable, an element, a call, a target variable, an @operator.
ast::Expr* parse_name(Parser& p);
// After the `(` at `open`; takes the `)`. False after an error.
bool parse_arguments(Parser& p, std::vector<ast::Expr*>& args, Range open);

} // namespace sonde
