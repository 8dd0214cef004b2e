// Builds everything that depends on the probe point: `$variables`, @entry and @defined.
#pragma once

#include <optional>

#include "frontend/sema/body.h"
#include "frontend/variables/variables.h"

namespace sonde {

// Builds a target expression; with `address`, the address of one, as in `&$x`.
hir::Expr* build_target(Body& b, const ast::TargetExpr& expr, bool address);
// Builds an assignment to the memory of the traced program.
hir::Expr* build_store(Body& b, const ast::Expr& target, const TargetAssignment& assignment);
// Builds `&$x->y`.
hir::Expr* build_address(Body& b, const ast::AddressOfExpr& expr);
// Converts a member expression to a target expression with all its components. The base is the base's own target, or
// else a script value with a pointer type.
ast::TargetExpr as_target(const ast::MemberExpr& expr);

// Builds `@entry(e)`.
hir::Expr* build_entry(Body& b, const ast::EntryExpr& expr);
// Saves the value of `expr` at the entry of the probed function, and returns an expression that reads it.
hir::Expr* save_at_entry(Body& b, hir::Expr* expr);
// Builds the test whether the call that was hit counts (.callee). Returns null if every call counts.
hir::Expr* build_callers(Body& b, Range range);

// Whether the expression can be built here. Keeps nothing of the trial.
bool is_defined(Body& b, const ast::Expr& expr);
// Returns the value of a condition if @defined determines it at compile time, so that dead branches are not built; else
// nullopt.
std::optional<bool> known_value(Body& b, const ast::Expr& expr);

// Creates the interface by which binding a `$variable` at `expr_range` uses this body. It keeps a reference to `b`.
Binder make_binder(Body& b, Range expr_range);

} // namespace sonde
