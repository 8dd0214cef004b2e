// Handlers for places that one call can pass more than once: the head of a loop at the first instruction of a function.
//
// Example:
//
//     drain:  mov (%rdi),%eax     the probed instruction
//             ...
//             jne drain           a backward jump: the next execution of `drain` is the same call
//
// sonde puts a second handler at each backward jump. If the jump is going to be taken, this handler stores a mark:
// "this thread arrives from inside". The handler of the probe removes the mark, and does not count that execution.
//
// The mark is stored under the thread, its stack pointer and the number of the point. A signal handler that interrupts
// the thread between the jump and `drain`, and calls the same function, has another stack pointer. Nothing else can run
// in the thread between the two, so no mark is left over.
#pragma once

#include "frontend/hir/hir.h"
#include "frontend/points/resolved_point.h"
#include "frontend/sema/body.h"

namespace sonde {

// Builds the condition that an execution of `point` is a new call. Returns null if every execution is one. `which`
// distinguishes several points at the same address.
hir::Expr* build_first_arrival(Body& body, const ResolvedPoint& point, int64_t which, Range range);
// Builds the handlers that store the marks, one for each of the point's backward jumps. `like` gives the properties
// that are common with the probe's handler. The result is empty if the point has no such jump.
std::vector<hir::Handler*> build_arrival_notes(Body& body, const hir::Handler& like, const ResolvedPoint& point,
                                               int64_t which);

} // namespace sonde
