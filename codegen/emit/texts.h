// Constant texts that are chosen at run time: messages of errors, results of pp() and similar functions, and texts that
// array keys store as numbers (hir::Program::texts).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/emit/plan_state.h"
#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

class Emitter;

// A pointer to the message of the error at this site, without its argument.
llvm::Value* site_message(Emitter& e, llvm::Value* site);
// A pointer to the result of pp(), pn(), probefunc() or probe_type() for a row, padded with NULs to least_row_text
// bytes or more.
constexpr uint64_t least_row_text = 256;
llvm::Value* row_text(Emitter& e, llvm::Value* row, hir::PointText text);
// The number of this text, as an i64.
llvm::Value* row_text_number(Emitter& e, llvm::Value* row, hir::PointText text);
// The number of a text that is known at compile time; 0 if it has no number.
uint32_t number_of_text(const PlanState& state, const std::string& text);
// A pointer to the text with this number.
llvm::Value* numbered_text(Emitter& e, llvm::Value* number);
// The number of the row's point (hir::Program::point_numbers).
llvm::Value* point_number(Emitter& e, llvm::Value* row);
// A word of a constant table; 0 if the index is outside.
llvm::Value* table_word(Emitter& e, const std::vector<int64_t>& table, llvm::Value* index);
// An element, zero-extended, of a constant table whose length is a power of two. The index must be less than the
// length.
llvm::Value* table_entry(Emitter& e, const std::vector<uint32_t>& table, llvm::Value* index);
// Defines the tables and constants that code and routines use. Call it when everything is lowered and linked.
void define_constants(Emitter& e);

} // namespace sonde
