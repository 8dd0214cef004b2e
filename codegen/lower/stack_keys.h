// Stacks as components of array keys.
#pragma once

#include <cstddef>

namespace llvm {
class Value;
}

namespace sonde {
namespace hir {
struct Expr;
}
namespace plan {
struct Global;
}
struct Lowerer;

// The text that identifies the stack in all processes, padded with NULs, if this component of the key is the hit's own
// stack and processes share the array's stacks. Null: it is something else.
llvm::Value* shared_key(Lowerer& l, const plan::Global& array, size_t component, const hir::Expr& expr);
// The value for an assignment to a variable that holds such a text (find_holders_of_shared()).
llvm::Value* shared_value(Lowerer& l, const hir::Expr& expr);

} // namespace sonde
