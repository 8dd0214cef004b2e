// Statements.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

struct Lowerer;

// Lowers a statement and all statements in it. If the current block has ended already, for example after `next`, the
// code goes to a block that is never reached.
void lower(Lowerer& l, const hir::Stmt& stmt);

} // namespace sonde
