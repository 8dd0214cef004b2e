// Recursive functions in the kernel.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Lowers a recursive function together with all functions that it calls recursively, into its LoweredFunction.
void lower_machine(Lowerer& l, const hir::Function& function);
// Calls one of the machine's functions from another one.
llvm::Value* call_in_machine(Lowerer& l, const hir::Call& expr);
// Call it before each iteration of a loop. Returns true if the loop is part of the machine and needs no mark
// (loop_mark).
bool begin_machine_round(Lowerer& l, const hir::Stmt& loop);

} // namespace sonde
