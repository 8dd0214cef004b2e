// Stacks.
#pragma once

namespace llvm {
class Value;
}

namespace sonde {
namespace hir {
struct Intrinsic;
}

struct Lowerer;

// At a handler's beginning: where its stacks begin, as they are unwound later. `at_entry`: of a return probe's handler
// this is the program that runs when the function is called.
void begin_stacks(Lowerer& l, bool at_entry);
// What the primitive that gives a user stack as text gives as a key that processes share, padded with NULs. Only in the
// kernel.
llvm::Value* emit_shared_stack(Lowerer& l, const hir::Intrinsic& expr);

} // namespace sonde
