// Assignments.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Returns the value of the assignment: a number, or a string that does not change until the statement ends. The latter
// is a copy, unless nobody uses the value.
llvm::Value* lower_assign(Lowerer& l, const hir::Assign& expr);
// `<<<`
llvm::Value* lower_stat_add(Lowerer& l, const hir::StatAdd& expr);

} // namespace sonde
