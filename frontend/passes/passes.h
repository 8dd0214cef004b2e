// Passes from HIR to HIR. They need the types of all expressions, so sema runs them last, in this order.
#pragma once

#include <cstdint>
#include <map>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/hir/hir.h"

namespace sonde {

// own_task.cc: warns about host timers that ask for the current task, which is sonde itself. `heads` maps each handler
// to the place in the script where its probe points are written.
void check_own_task(const hir::Program& program, const std::map<const hir::Handler*, Range>& heads, Diagnostics& diags);
// own_text.cc: changes the conversion of printf directives to `S` or `C` (plan::Directive) where the argument is a
// string that comes from the script alone.
void mark_own_texts(hir::Program& program);
// forward.cc: finds locals that are synonyms for an existing string, and sets Local::stands_for.
void forward_texts(hir::Program& program);
// Removes these locals from a list and renumbers the rest, starting at index `first`.
void drop_forwarded(std::vector<hir::Local*>& locals, size_t first);
// key_roles.cc: finds the key components that hold stacks or processes, and sets Global::key_roles.
void find_key_roles(hir::Program& program);
// counters.cc: finds globals that the script only adds to, and sets Global::only_grows.
void find_counters(hir::Program& program);
// intern.cc: replaces strings in array keys by numbers where all of them are known, and sets Program::texts.
// `max_string` is MAXSTRINGLEN, in bytes.
void intern_texts(hir::Program& program, Arena& arena, uint64_t max_string);
// widths.cc: bounds the strings and numbers in array keys, and sets Global::key_bounds.
void bound_keys(hir::Program& program);
// exclusion.cc: assigns locks to handlers that must not run at the same time (Handler::lock, Program::locks).
void plan_exclusion(hir::Program& program);

} // namespace sonde
