// Parses expressions. All functions report errors, and then return null or false.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Parses any expression, including assignments.
ast::Expr* parse_expr(Parser& p);
// Parses an expression that begins with a name: a variable, an element, a call, a target variable or an @operator.
ast::Expr* parse_name(Parser& p);
// Parses arguments after the `(` at `open` and consumes the `)`.
bool parse_arguments(Parser& p, std::vector<ast::Expr*>& args, Range open);

} // namespace sonde
