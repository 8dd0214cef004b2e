// Builds the @operators that are not target expressions.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// Builds one operator. The parser has checked its name and arguments.
hir::Expr* build_at(Body& b, const ast::AtOperatorExpr& expr);

} // namespace sonde
