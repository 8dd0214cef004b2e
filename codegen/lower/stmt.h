// Statements.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

struct Lowerer;

void lower(Lowerer& l, const hir::Stmt& stmt);

} // namespace sonde
