// Walks over HIR: `visit` is called for the whole first, then for its parts in order.
#pragma once

#include <functional>

#include "frontend/hir/hir.h"

namespace sonde {

// Itself and every expression below.
void for_each_expr(const hir::Expr& expr, const std::function<void(const hir::Expr&)>& visit);
// All expressions in the statement and in those below.
void for_each_expr(const hir::Stmt& stmt, const std::function<void(const hir::Expr&)>& visit);
// Everything that runs for a handler: condition, entry values and body.
void for_each_expr(const hir::Handler& handler, const std::function<void(const hir::Expr&)>& visit);
// Itself and every statement below.
void for_each_stmt(const hir::Stmt& stmt, const std::function<void(const hir::Stmt&)>& visit);

// The one expression that a function returns, if that is all it does; else null.
const hir::Expr* only_result(const hir::Function& function);
// The global that a GlobalRef or Element names, else null.
hir::Global* global_of(const hir::Expr& expr);
// What an assignment to `target` sets: the Local*, or the Global* of a scalar or element.
const void* variable_of(const hir::Expr& target);

} // namespace sonde
