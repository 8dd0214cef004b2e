// Passes from HIR to HIR: what can be found out once every expression has a type. sema runs them, in this order.
#pragma once

#include <cstdint>
#include <map>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/hir/hir.h"

namespace sonde {

// own_task.cc: warns of timers that ask about the current task, which is sonde itself. `heads`: where a handler's probe
// points are written.
void check_own_task(const hir::Program& program, const std::map<const hir::Handler*, Range>& heads, Diagnostics& diags);
// own_text.cc: marks the directives of printf's whose argument is the script's own text: conversion `S` or `C`
// (plan::Directive).
void mark_own_texts(hir::Program& program);
// forward.cc: finds locals that stand for a text.
void forward_texts(hir::Program& program);
// Takes these out of a list of locals, whose indices begin at `first`.
void drop_forwarded(std::vector<hir::Local*>& locals, size_t first);
// key_roles.cc: finds which components of arrays' keys are stacks or processes: Global::key_roles.
void find_key_roles(hir::Program& program);
// intern.cc: makes numbers of the texts in arrays' keys where all of them are known beforehand: Program::texts.
void intern_texts(hir::Program& program, Arena& arena, uint64_t max_string);
// widths.cc: finds how wide the strings and numbers in arrays' keys can get: Global::key_bounds.
void bound_keys(hir::Program& program);
// exclusion.cc: gives handlers that must not run at the same time their locks.
void plan_exclusion(hir::Program& program);

} // namespace sonde
