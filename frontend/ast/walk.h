// Walks over syntax trees.
#pragma once

#include <functional>

#include "frontend/ast/ast.h"

namespace sonde {

// True if it is itself something whose meaning depends on the probe point (`$x`, @defined, @entry ...).
bool mentions_point(const ast::Expr& expr);
// Calls `visit` for itself and every expression below, parents first.
void for_each_expr(const ast::Expr& expr, const std::function<void(const ast::Expr&)>& visit);
// The same for all expressions in the statement and in those below.
void for_each_expr(const ast::Stmt& stmt, const std::function<void(const ast::Expr&)>& visit);
void for_each_stmt(const ast::Stmt& stmt, const std::function<void(const ast::Stmt&)>& visit);

} // namespace sonde
