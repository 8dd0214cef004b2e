// C in scripts, as HIR: function bodies and expressions.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// The body of a function in C.
void build_c_body(Body& b, const ast::Function& function);
hir::Expr* build_c_expression(Body& b, const ast::EmbeddedExpr& expr, bool value_unused);

} // namespace sonde
