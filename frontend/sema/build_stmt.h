// Converts statements and whole functions to HIR.
#pragma once

#include "frontend/sema/body.h"

namespace sonde {

// Builds the body of `b`'s function.
void build_function(Body& b, const ast::Function& function);
// Builds the statements of a block and appends them to `out`; `file` is the file whose names are visible.
void build_block(Body& b, const ast::BlockStmt& block, FileId file, hir::Block& out);

} // namespace sonde
