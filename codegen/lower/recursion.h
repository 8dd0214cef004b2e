// Functions that call themselves, in the kernel.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Fills the LoweredFunction of a function that calls itself, with all that it calls.
void lower_machine(Lowerer& l, const hir::Function& function);
// A call from one of the machine's functions to one of them.
llvm::Value* call_in_machine(Lowerer& l, const hir::Call& expr);
// Before each round of a loop. True: the loop is a part of the machine's, and needs no mark of its own.
bool begin_machine_round(Lowerer& l, const hir::Stmt& loop);

} // namespace sonde
