// Converts calls of functions to HIR.
#pragma once

#include <vector>

#include "frontend/sema/body.h"

namespace sonde {

// Builds `f(a, b)`. Reports unknown functions and wrong numbers of arguments.
hir::Expr* build_call(Body& b, const ast::CallExpr& expr);
// Builds a call of the given function. If its body mentions the probe point, calls the instance for this body's point.
hir::Expr* build_call_to(Body& b, NamedFunction& entry, std::vector<hir::Expr*> args, Range range);
// Builds `next` in a function: calls the next function with the same name and number of parameters, with the same
// arguments.
hir::Stmt* build_next_overload(Body& b, Range range);

} // namespace sonde
