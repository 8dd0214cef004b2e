// Statements and whole functions: trees to HIR.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// The function of the body `b`, into its HIR.
void build_function(Body& b, const ast::Function& function);
// Statements of a block, appended to `out`; names are looked up from `file`.
void build_block(Body& b, const ast::BlockStmt& block, FileId file, hir::Block& out);

} // namespace sonde
