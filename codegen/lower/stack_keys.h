// Stacks as components of arrays' keys.
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

// Where a component of a key is the hit's own stack, and processes share the array's stacks: the text by which all of
// them know it, padded with NULs. Null: it is something else.
llvm::Value* shared_key(Lowerer& l, const plan::Global& array, size_t component, const hir::Expr& expr);
// The value of an assignment to a variable that holds such a text (find_holders_of_shared()).
llvm::Value* shared_value(Lowerer& l, const hir::Expr& expr);

} // namespace sonde
