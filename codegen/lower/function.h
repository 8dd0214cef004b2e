// Functions of the script.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Function;
class Value;
} // namespace llvm

namespace sonde {

struct Lowerer;

// Calls a function of the script. A string result is written to `slot`, or to a new slot if it is null.
llvm::Value* lower_call(Lowerer& l, const hir::Call& expr, llvm::Value* slot = nullptr);
// The LLVM function; the first call lowers its body.
llvm::Function* declare_function(Lowerer& l, const hir::Function& function);

} // namespace sonde
