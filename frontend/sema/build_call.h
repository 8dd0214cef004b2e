// Calls of functions: trees to HIR.
#pragma once

#include <vector>

#include "frontend/sema/body.h"

namespace sonde {

hir::Expr* build_call(Body& b, const ast::CallExpr& expr);
// A call of that function: of the instance for this body's point where it mentions the point.
hir::Expr* build_call_to(Body& b, NamedFunction& entry, std::vector<hir::Expr*> args, Range range);
// `next` in a function: what the next function of that name and number of parameters gives for the same arguments.
hir::Stmt* build_next_overload(Body& b, Range range);

} // namespace sonde
