// Array keys, elements, and statistics.
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

// Composes a key in memory: small keys on the stack, others in the frame with room after the last string. Null keys
// (`*`) remain zero. `slice_mask` gets a bit for each given key, and all ones if all keys are given.
llvm::Value* compose_key(Lowerer& l, const hir::Global& array, const std::vector<hir::Expr*>& keys,
                         uint64_t* slice_mask);
// Loads a number from a key in memory.
llvm::Value* key_number(Lowerer& l, llvm::Value* key, const plan::KeyPart& part);
// The number of a text that is known at compile time (codegen/emit/texts.h).
llvm::Value* text_number(Lowerer& l, const hir::Expr& text);
// The value of an element: a number, or a copy of a string in a slot. 0 or "" if the element does not exist.
llvm::Value* read_element(Lowerer& l, const hir::Element& element);

// A pointer to the StatsBlock of a global or an element.
llvm::Value* stats_pointer(Lowerer& l, const hir::Expr& source);
// The global that holds this statistic.
const hir::Global& global_of_statistic(const hir::Expr& source);
// An extractor such as @count(s) or @max(s). Those without a meaning for an empty statistic raise an error.
llvm::Value* read_statistic(Lowerer& l, const hir::StatRead& expr);
// A bucket of a histogram, as in @hist_log(s)[3].
llvm::Value* read_bucket(Lowerer& l, const hir::HistBucket& expr);
// Raises an error if the statistic has no values.
void raise_if_empty(Lowerer& l, llvm::Value* stats, Range range);

} // namespace sonde
