// Parses target variables, the components that may follow any value, and the @operators. All functions return null
// after an error, unless they say otherwise.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// Parses a target variable after the token `name`, which begins with `$`.
ast::Expr* parse_target_variable(Parser& p, const Token& name);
// Parses an operator after the token `name`, which begins with `@`.
ast::Expr* parse_at(Parser& p, const Token& name);
// Parses the percentage of @percentile, 99 or 99.9, in millionths. Returns 0 if the number is out of range.
std::optional<int64_t> expect_percentage(Parser& p);
// Parses the `->member`, `[index]` and `$` that follow the value `base`, and returns the whole expression. Returns
// `base` if no components follow. `base` may be null.
ast::Expr* with_components(Parser& p, ast::Expr* base);
// If --compatible names a version of SystemTap older than `since`, reports an error and returns false.
bool check_age(Parser& p, Range range, std::string_view what, const char* since);
// Parses a text that consists of one target variable.
const ast::TargetExpr* parse_target_only(Parser& p);

} // namespace sonde
