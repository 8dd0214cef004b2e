// Chains of futures (Rust) and coroutines (C++): what a task waits for, or who waits for a coroutine.
#pragma once

#include "frontend/variables/variables.h"

namespace sonde {

// Returns a call of the primitive that follows the chain from an object. `object` is its address as the script has
// written it, and its C type tells which object it is. Null after a report.
hir::Expr* bind_async_walk(hir::Expr* object, const ResolvedPoint& point, Range range, Binder& binder);
// The same from the coroutine at the probe point. Null without a report if it is not in C++: then the user stack has
// the polls of all futures that are running. Null also after a report.
hir::Expr* bind_own_async_walk(const ResolvedPoint& point, Range range, Binder& binder);
// Whether the functions that wait for the one at the point are on the user stack, because it is not in C++.
bool has_async_stack(const ResolvedPoint& point);
// The lines of the output. Call it after one of the functions above.
hir::Expr* bind_async_lines(const ResolvedPoint& point, Range range, Binder& binder);

} // namespace sonde
