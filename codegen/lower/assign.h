// Assignments.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

llvm::Value* lower_assign(Lowerer& l, const hir::Assign& expr);
// `<<<`
llvm::Value* lower_stat_add(Lowerer& l, const hir::StatAdd& expr);

} // namespace sonde
