// User stacks as array keys that are the same in all processes (runtime/plan/stack.h, struct sonde_shared).
//
// The problem: `n[ubacktrace()] <<< 1` shall count a call path once, not once per process. But the libraries of two
// processes are at different addresses, so the same path has different addresses.
//
// The idea: the handler knows each address of the hit's stack as a file and an offset. Where the script uses this stack
// as a key, the key is one text for all processes: that of the first stack with the same files and offsets. Everywhere
// else, a stack has the addresses of its own process.
//
// This extends to variables and array values that are used only as parts of such keys later, for example `stack[t] =
// ubacktrace()` and, at a return, `n[stack[t]] <<< time`. They hold the shared text from the beginning. The script
// cannot see the difference, and at the return the hit's stack would be another one.
#pragma once

#include <cstdint>
#include <set>

#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The primitive that returns a user stack as text: the expression itself, or the body of a function that returns just
// that. Null: the expression is something else.
const hir::Intrinsic* user_stack_in(const hir::Expr& expr);

// Whether processes share stacks in this array's keys. They don't if the key also contains the process: then elements
// are separate anyway and keep their own addresses.
bool shares_stacks(const plan::Global& array);
// Whether this component of a key is such a stack.
bool is_shared(const plan::Global& array, size_t component);

// The number of stacks that can be shared: those that all such arrays hold at once, and as many that were deleted. 0 if
// there is no such array.
uint32_t shared_stacks(const plan::Plan& plan);
// The number of places (file and offset) that are stored for each shared stack.
uint32_t shared_places(const plan::Plan& plan);

// The variables (Local*, Global*) and arrays (Global*, for their values) that hold shared texts.
std::set<const void*> find_holders_of_shared(const hir::Program& program, const plan::Plan& plan);

} // namespace sonde
