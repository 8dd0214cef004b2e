// What handlers and functions need of memory that outlives the 512 bytes of a BPF stack.
#pragma once

#include <vector>

#include "codegen/environment.h"
#include "frontend/hir/hir.h"
#include "runtime/plan.h"

namespace sonde {

// Of a handler, with the functions that it calls.
Needs needs_of(const hir::Handler& handler, const plan::Plan& plan, bool in_kernel);
Needs needs_of(const hir::Function& function, const plan::Plan& plan, bool in_kernel);
// Of the program for a function's entry, which computes these.
Needs needs_at_entry(const std::vector<const hir::Expr*>& values);

} // namespace sonde
