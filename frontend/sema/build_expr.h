// Expressions: trees to HIR. None of these gives null unless it says so.
#pragma once

#include <string>
#include <vector>

#include "frontend/sema/body.h"

namespace sonde {

hir::Expr* build_expr(Body& b, const ast::Expr& expr);
// An expression whose value nobody uses.
hir::Expr* build_effect(Body& b, const ast::Expr& expr);
// An alias' or a point's condition; names are looked up from `file`.
hir::Expr* build_condition(Body& b, const ast::Expr& expr, FileId file);

// The array `name`; null after a report.
hir::Global* find_array(Body& b, const std::string& name, Range range);
// As many as the array has; `wildcards`: a key may be `*`, which gives null.
std::vector<hir::Expr*> build_keys(Body& b, const std::vector<ast::Expr*>& keys, bool wildcards, hir::Global& array,
                                   Range range);
// The first use says how many keys the array has. False after a report.
bool check_key_count(Body& b, hir::Global& array, size_t count, Range range);

} // namespace sonde
