// Converts C code in scripts to HIR: function bodies and expressions.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// Builds the body of a function in C.
void build_c_body(Body& b, const ast::Function& function);
// Builds a C expression. `value_unused`: it is used as a statement.
hir::Expr* build_c_expression(Body& b, const ast::EmbeddedExpr& expr, bool value_unused);

} // namespace sonde
