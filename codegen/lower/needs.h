// What handlers and functions need of memory that outlives the 512 bytes of a BPF stack.
#pragma once

#include <vector>

#include "codegen/environment.h"
#include "codegen/plan_state.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Of a handler, with the functions that it calls.
Needs needs_of(const hir::Handler& handler, const PlanState& state, bool in_kernel);
Needs needs_of(const hir::Function& function, const PlanState& state, bool in_kernel);
// Of the program for a function's entry, which computes these.
Needs needs_at_entry(const std::vector<const hir::Expr*>& values, const PlanState& state);

} // namespace sonde
