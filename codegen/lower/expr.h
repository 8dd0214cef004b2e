// Expressions.
#pragma once

#include "base/source.h"
#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Lowers an expression to an i64, or to a pointer to a string that does not change until the statement ends.
llvm::Value* lower(Lowerer& l, const hir::Expr& expr);
// The same, but a string is always in a slot.
llvm::Value* lower_slot(Lowerer& l, const hir::Expr& expr);
// Writes a string into this slot, to which no other pointer exists, not even in the expression itself.
void lower_into(Lowerer& l, const hir::Expr& expr, llvm::Value* slot);
// i1: whether the expression is not 0.
llvm::Value* truth(Lowerer& l, const hir::Expr& expr);
// Applies an operator. A division by 0 raises an error at `range`.
llvm::Value* arithmetic(Lowerer& l, hir::BinaryOp op, llvm::Value* a, llvm::Value* b, Range range);

} // namespace sonde
