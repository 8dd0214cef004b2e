// Computes the memory that handlers and functions need besides the 512 bytes of a BPF stack.
#pragma once

#include <vector>

#include "codegen/emit/environment.h"
#include "codegen/emit/plan_state.h"
#include "frontend/hir/hir.h"

namespace sonde {

// The needs of a handler or function, including the functions that it calls.
Needs needs_of(const hir::Handler& handler, const PlanState& state, bool in_kernel);
Needs needs_of(const hir::Function& function, const PlanState& state, bool in_kernel);
// The needs of the program at a function's entry that computes these values.
Needs needs_at_entry(const std::vector<const hir::Expr*>& values, const PlanState& state);

} // namespace sonde
