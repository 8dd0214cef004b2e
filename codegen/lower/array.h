// Array keys, elements and statistics.
#pragma once

#include <cstdint>
#include <vector>

#include "base/source.h"
#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Keys that are put together on the stack: what they are made of needs no frame.
bool is_small_key(const plan::Global& global, const std::vector<hir::Expr*>& keys, uint32_t max_string);
// A string that becomes part of a small key without memory of its own.
bool needs_no_slot(const hir::Expr& expr, const plan::KeyPart& part, uint32_t max_string);

// A key in memory. Small keys lie on the stack, others in the frame with slack after the last string. Null keys (`*`)
// stay zero; the mask says which are given, and is all ones if all are.
llvm::Value* compose_key(Lowerer& l, const hir::Global& array, const std::vector<hir::Expr*>& keys,
                         uint64_t* slice_mask);
// A number in a key in memory.
llvm::Value* key_number(Lowerer& l, llvm::Value* key, const plan::KeyPart& part);
// The number of a text that is known beforehand (codegen/texts.h).
llvm::Value* text_number(Lowerer& l, const hir::Expr& text);
llvm::Value* read_element(Lowerer& l, const hir::Element& element);

// A pointer to the StatsBlock of a global or an element.
llvm::Value* stats_pointer(Lowerer& l, const hir::Expr& source);
// Whose statistic that is.
const hir::Global& global_of_statistic(const hir::Expr& source);
llvm::Value* read_statistic(Lowerer& l, const hir::StatRead& expr);
llvm::Value* read_bucket(Lowerer& l, const hir::HistBucket& expr);
void raise_if_empty(Lowerer& l, llvm::Value* stats, Range range);

} // namespace sonde
