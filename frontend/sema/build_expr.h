// Converts expressions to HIR. The functions never return null.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// Builds any expression.
hir::Expr* build_expr(Body& b, const ast::Expr& expr);
// Builds an expression whose value is not used.
hir::Expr* build_effect(Body& b, const ast::Expr& expr);
// Builds the condition of an alias or a probe point; `file` is the file whose names are visible.
hir::Expr* build_condition(Body& b, const ast::Expr& expr, FileId file);

} // namespace sonde
