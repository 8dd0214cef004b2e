// What depends on the probe point: `$variables`, @entry, @defined.
#pragma once

#include <optional>

#include "frontend/sema/body.h"
#include "frontend/variables/variables.h"

namespace sonde {

// `address`: of `&$x`.
hir::Expr* build_target(Body& b, const ast::TargetExpr& expr, bool address);
// An assignment to the program's memory.
hir::Expr* build_store(Body& b, const ast::Expr& target, const Assignment& assignment);
hir::Expr* build_address(Body& b, const ast::AddressOfExpr& expr);
// Its base with all components: a target's own, or what a script's value points at.
ast::TargetExpr as_target(const ast::MemberExpr& expr);

hir::Expr* build_entry(Body& b, const ast::EntryExpr& expr);
// The value that `expr` has at the probed function's entry.
hir::Expr* save_at_entry(Body& b, hir::Expr* expr);
// Whether the call that has hit counts (.callee); null if each does.
hir::Expr* build_callers(Body& b, Range range);

// Builds it, and keeps nothing of it.
bool is_defined(Body& b, const ast::Expr& expr);
// The value that @defined settles during translation, so that dead branches are not built; nullopt: it is open.
std::optional<bool> known_value(Body& b, const ast::Expr& expr);

// What the binding of a `$variable` at `expr_range` needs of this body. It refers to `b`.
Binder make_binder(Body& b, Range expr_range);

} // namespace sonde
