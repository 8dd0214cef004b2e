// Primitives. Each row of frontend/hir/primitives.def names a function that emits code for a family of primitives.
// These are in primitives_*.cc and regex.cc, by topic.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Calls the emitter of the primitive's row. Returns a number, or a pointer to a string.
llvm::Value* lower_primitive(Lowerer& l, const hir::Intrinsic& expr);

#define PRIMITIVE(name, emitter, ...) llvm::Value* emitter(Lowerer& l, const hir::Intrinsic& expr);
#include "frontend/hir/primitives.def"
#undef PRIMITIVE

} // namespace sonde
