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

// i64, or a pointer to a string that stays as it is until the statement ends.
llvm::Value* lower(Lowerer& l, const hir::Expr& expr);
// A string in a slot.
llvm::Value* lower_slot(Lowerer& l, const hir::Expr& expr);
// A string into a slot that nothing else has a pointer to, not even what the expression reads.
void lower_into(Lowerer& l, const hir::Expr& expr, llvm::Value* slot);
// i1
llvm::Value* truth(Lowerer& l, const hir::Expr& expr);
llvm::Value* arithmetic(Lowerer& l, hir::BinaryOp op, llvm::Value* a, llvm::Value* b, Range range);
// Reads what the expression says from an address.
llvm::Value* load(Lowerer& l, const hir::Load& expr, llvm::Value* address);

// Writes `size` bytes of a number to user memory; `what` is what the script calls that.
void write_memory(Lowerer& l, llvm::Value* address, llvm::Value* value, uint32_t size, Range range,
                  const std::string& what);
// Code that is lowered changes what the kernel or a program does: Plan::changes.
void note_change(Lowerer& l, Range range, const std::string& what);
// It writes memory, which is a change too.
void note_write(Lowerer& l, Range range, const std::string& what);
constexpr const char* write_fault = "write fault [man error::fault] at %#x";

// Gives its length.
llvm::Value* copy_text(Lowerer& l, llvm::Value* slot, llvm::Value* text);
void store_string(Lowerer& l, llvm::Value* destination, llvm::Value* source);
// In a slot of its own.
llvm::Value* copy_of(Lowerer& l, llvm::Value* string);
llvm::Value* global_address(Lowerer& l, const hir::Global& global);

} // namespace sonde
