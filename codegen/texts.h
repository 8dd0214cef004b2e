// Constant texts that are chosen when the code runs: messages of errors, what pp() and its relatives give, texts that
// array keys hold as numbers (hir::Program::texts).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/plan_state.h"
#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

class Emitter;

// A pointer to the message of an error at `site`, without the argument.
llvm::Value* site_message(Emitter& e, llvm::Value* site);
// A pointer to the text that pp(), pn(), probefunc() or probe_type() give at a row, padded with NULs to row_text_bytes.
constexpr uint64_t row_text_bytes = 256;
llvm::Value* row_text(Emitter& e, llvm::Value* row, hir::PointText text);
// Its number, as an i64.
llvm::Value* row_text_number(Emitter& e, llvm::Value* row, hir::PointText text);
// The number of a text that is known now; 0 if it has none.
uint32_t number_of_text(const PlanState& state, const std::string& text);
// A pointer to the text with that number.
llvm::Value* numbered_text(Emitter& e, llvm::Value* number);
// The number that the program has for the point at a row: hir::Program::point_numbers.
llvm::Value* point_number(Emitter& e, llvm::Value* row);
// A word of a constant table; 0 outside of it.
llvm::Value* table_word(Emitter& e, const std::vector<int64_t>& table, llvm::Value* index);
// An entry, zero-extended, of a constant table whose length is a power of two; the index is below that.
llvm::Value* table_entry(Emitter& e, const std::vector<uint32_t>& table, llvm::Value* index);
// Defines the tables and constants that the routines and the code refer to; after everything is lowered and linked.
void define_constants(Emitter& e);

} // namespace sonde
