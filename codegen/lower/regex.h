// Regular expressions.
#pragma once

#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// At a handler's beginning: makes room for what matched() tells of.
void begin_matches(Lowerer& l);
llvm::Value* lower_regex(Lowerer& l, const hir::Regex& expr);

} // namespace sonde
