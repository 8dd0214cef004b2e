// Names and elements: what a script's variables are in HIR.
#pragma once

#include <string>
#include <vector>

#include "frontend/sema/body.h"

namespace sonde {

hir::Expr* build_name(Body& b, const ast::NameExpr& expr);
hir::Expr* build_index(Body& b, const ast::IndexExpr& expr);
// What is assigned to: a local, a global or an element; null after a report.
hir::Expr* build_lvalue(Body& b, const ast::Expr& expr);

// The array `name`; null after a report.
hir::Global* find_array(Body& b, const std::string& name, Range range);
// As many as the array has; `wildcards`: a key may be `*`, which gives null.
std::vector<hir::Expr*> build_keys(Body& b, const std::vector<ast::Expr*>& keys, bool wildcards, hir::Global& array,
                                   Range range);
// The first use says how many keys the array has. False after a report.
bool check_key_count(Body& b, hir::Global& array, size_t count, Range range);

} // namespace sonde
