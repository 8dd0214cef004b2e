// Expressions: trees to HIR. None of these gives null.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

hir::Expr* build_expr(Body& b, const ast::Expr& expr);
// An expression whose value nobody uses.
hir::Expr* build_effect(Body& b, const ast::Expr& expr);
// An alias' or a point's condition; names are looked up from `file`.
hir::Expr* build_condition(Body& b, const ast::Expr& expr, FileId file);

} // namespace sonde
