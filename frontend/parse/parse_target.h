// Target variables, what may follow any value, and the @operators: tokens to trees.
#pragma once

#include "frontend/parse/parser_impl.h"

namespace sonde {

// After the token `name`, which begins with `$`. Null after an error, as those below.
ast::Expr* parse_target_variable(Parser& p, const Token& name);
// After the token `name`, which begins with `@`.
ast::Expr* parse_at(Parser& p, const Token& name);
// A percentage of @percentile, 99 or 99.9, in millionths; 0 after one that is wrong.
std::optional<int64_t> expect_percentage(Parser& p);
// The value `base` with the `->member`, `[index]` and `$` that follow it; `base` itself where none do. `base` may be
// null.
ast::Expr* with_components(Parser& p, ast::Expr* base);
// A whole text that is one target variable.
const ast::TargetExpr* parse_target_only(Parser& p);

} // namespace sonde
