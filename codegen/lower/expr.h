// Expressions.
#pragma once

#include <cstdint>
#include <string>

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
// Reads from an address with the size and sign of the expression. A fault raises an error.
llvm::Value* load(Lowerer& l, const hir::Load& expr, llvm::Value* address);

// Writes `size` bytes of a number to user memory. `what`: the script's name of the target, for messages.
void write_memory(Lowerer& l, llvm::Value* address, llvm::Value* value, uint32_t size, Range range,
                  const std::string& what);
// Reports that this code changes the behavior of the kernel or of a program (Plan::changes).
void note_change(Lowerer& l, Range range, const std::string& what);
// The same for code that writes memory.
void note_write(Lowerer& l, Range range, const std::string& what);

// Copies a text to a slot. Returns the length in bytes, without the NUL.
llvm::Value* copy_text(Lowerer& l, llvm::Value* slot, llvm::Value* text);
// The same without the length. `destination` must be a slot, or a string's memory in a frame or in the data area.
void store_string(Lowerer& l, llvm::Value* destination, llvm::Value* source);
// Copies the string to a new slot.
llvm::Value* copy_of(Lowerer& l, llvm::Value* string);
// The address of a global in the data area.
llvm::Value* global_address(Lowerer& l, const hir::Global& global);

} // namespace sonde
