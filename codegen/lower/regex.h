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
// Whether match_regex() needs the subject in a slot (lower_slot()).
bool needs_slot(const hir::Regex& expr);
// The value of `=~` or `!~` for this subject.
llvm::Value* match_regex(Lowerer& l, const hir::Regex& expr, llvm::Value* subject);

} // namespace sonde
