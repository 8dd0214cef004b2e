// Traversals of HIR: `visit` is called for a node first, then for its children in order.
#pragma once

#include <functional>

#include "frontend/hir/hir.h"

namespace sonde {

// Visits the expression and all expressions in it.
void for_each_expr(const hir::Expr& expr, const std::function<void(const hir::Expr&)>& visit);
// Visits all expressions in the statement and in its nested statements.
void for_each_expr(const hir::Stmt& stmt, const std::function<void(const hir::Expr&)>& visit);
// Visits all expressions that run for a handler: condition, entry values and body.
void for_each_expr(const hir::Handler& handler, const std::function<void(const hir::Expr&)>& visit);
// Visits the statement and all nested statements.
void for_each_stmt(const hir::Stmt& stmt, const std::function<void(const hir::Stmt&)>& visit);

// If the function's body is a single `return` of an expression, returns that expression; else null.
const hir::Expr* only_result(const hir::Function& function);
// Returns the global that a GlobalRef or Element names, else null.
hir::Global* global_of(const hir::Expr& expr);
// Returns the variable that an assignment to `target` changes: a Local*, or the Global* of a scalar or an element.
const void* variable_of(const hir::Expr& target);

} // namespace sonde
