// Statements.
#pragma once

#include "codegen/lower/lowerer.h"

namespace sonde {

void lower(Lowerer& l, const hir::Stmt& stmt);

} // namespace sonde
