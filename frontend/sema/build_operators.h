// The @operators that are no target expressions.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// The parser has checked the operator's name and its arguments.
hir::Expr* build_at(Body& b, const ast::AtOperatorExpr& expr);

} // namespace sonde
