// Assignments.
#pragma once

#include "codegen/lower/lowerer.h"

namespace sonde {

llvm::Value* lower_assign(Lowerer& l, const hir::Assign& expr);
// `<<<`
llvm::Value* lower_stat_add(Lowerer& l, const hir::StatAdd& expr);

} // namespace sonde
