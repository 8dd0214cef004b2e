// Traversals of syntax trees. A visitor sees a node before its children, and cannot skip the children.
#pragma once

#include <functional>

#include "frontend/ast/ast.h"

namespace sonde {

// Whether the node's own meaning depends on the probe point, as that of `$x`, @defined and @entry does.
bool mentions_point(const ast::Expr& expr);
// Calls `visit` for the expression and all expressions in it, parents first.
void for_each_expr(const ast::Expr& expr, const std::function<void(const ast::Expr&)>& visit);
// The same for all expressions (or statements) in the statement and its nested statements.
void for_each_expr(const ast::Stmt& stmt, const std::function<void(const ast::Expr&)>& visit);
void for_each_stmt(const ast::Stmt& stmt, const std::function<void(const ast::Stmt&)>& visit);

} // namespace sonde
