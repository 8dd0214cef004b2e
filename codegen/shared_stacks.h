// User stacks as keys of arrays that processes share (runtime/symbols/stack.h, struct sonde_shared).
//
// The stack of a hit is known by places in files, so where the script takes it for a key it gets the text by which all
// processes know it. Everywhere else a stack has the addresses of its own process. A variable or an array's values that
// are nothing but parts of such keys later, `stack[t] = ubacktrace()` and at a return `n[stack[t]] <<< time`, hold the
// text that is shared from the beginning: nobody sees the difference, and the return has another stack.
#pragma once

#include <cstdint>
#include <set>

#include "codegen/codegen.h"
#include "frontend/hir/hir.h"
#include "runtime/plan.h"

namespace sonde {

// What gives a user stack as text: the primitive itself, or the call of a function that returns just that. Null:
// something else.
const hir::Intrinsic* user_stack_in(const hir::Expr& expr);

// Where the key has the process too, each has its own elements anyway, with its own addresses.
bool shares_stacks(const plan::Global& array);
// Whether that component of a key is such a stack.
bool is_shared(const plan::Global& array, size_t component);

// How many stacks can be known by their places: those of all such arrays at once, and as many that were deleted; 0:
// there is no such array.
uint32_t shared_stacks(const plan::Plan& plan);
// The places that each of them keeps.
uint32_t shared_places(const CodegenOptions& options);

// Variables (Local*, Global*), and arrays as their values (Global*), that hold texts which are shared.
std::set<const void*> find_holders_of_shared(const hir::Program& program, const plan::Plan& plan);

} // namespace sonde
