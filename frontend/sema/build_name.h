// Converts names and array elements to HIR.
#pragma once

#include <string>
#include <vector>

#include "frontend/sema/body.h"

namespace sonde {

// Builds a name: a local or a global. A name that is neither becomes a local.
hir::Expr* build_name(Body& b, const ast::NameExpr& expr);
// Builds `a[k1, k2]`.
hir::Expr* build_index(Body& b, const ast::IndexExpr& expr);
// Builds the target of an assignment: a local, a global or an element. Returns null after reporting an error.
hir::Expr* build_lvalue(Body& b, const ast::Expr& expr);

// Returns the array `name`, or null after reporting an error.
hir::Global* find_array(Body& b, const std::string& name, Range range);
// Builds the keys of an element; their number must be the array's. With `wildcards`, a key may be `*`, which becomes
// null.
std::vector<hir::Expr*> build_keys(Body& b, const std::vector<ast::Expr*>& keys, bool wildcards, hir::Global& array,
                                   Range range);
// Checks the number of keys; the first use of an array defines it. Returns false after reporting an error.
bool check_key_count(Body& b, hir::Global& array, size_t count, Range range);

} // namespace sonde
