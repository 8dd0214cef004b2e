// Regular expressions.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Call it when a handler begins: allocates the state for matched().
void begin_matches(Lowerer& l);
llvm::Value* lower_regex(Lowerer& l, const hir::Regex& expr);

} // namespace sonde
