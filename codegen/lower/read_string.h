// Strings in memory, read directly into the slot that needs them. This saves the copy in
// `function f:string(p) { return user_string(p) }`.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Whether the primitive reads a string from memory as it is.
bool reads_string(const hir::Intrinsic& expr);
// Emits such a primitive with this slot for its result.
void read_string_into(Lowerer& l, const hir::Intrinsic& expr, llvm::Value* slot);

} // namespace sonde
