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

// Call it when a handler begins: stores where its stacks start, for unwinding later. `at_entry`: this is the program at
// the function's entry, for a return probe.
void begin_stacks(Lowerer& l, bool at_entry);
// The user stack as a key that processes share, padded with NULs. Only in the kernel.
llvm::Value* emit_shared_stack(Lowerer& l, const hir::Intrinsic& expr);

} // namespace sonde
