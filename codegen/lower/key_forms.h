// The forms of an array's keys, which decide where a key is composed. The essay in array.cc describes them.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/hir/hir.h"

namespace sonde {

// Whether the key can be composed on the stack, so that it does not need a frame.
bool is_small_key(const plan::Global& global, const std::vector<hir::Expr*>& keys, uint32_t max_string);
// Whether the string can be written into a small key without memory of its own.
bool needs_no_slot(const hir::Expr& expr, const plan::KeyPart& part, uint32_t max_string);
// Whether the expression's value can be written directly into the key, without a slot for the string.
bool writes_in_place(const hir::Expr& expr, const plan::KeyPart& part, uint32_t max_string);
// Whether this is the task's name, which the kernel always writes with 16 bytes.
bool is_comm(const hir::Intrinsic& intrinsic);

} // namespace sonde
