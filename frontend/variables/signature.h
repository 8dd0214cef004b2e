// What `int_arg(n)` and `returnval()` need to know of the probed function: they name nothing, and so have no type.
#pragma once

#include <vector>

#include "frontend/variables/variables.h"

namespace sonde {

// The arguments of a function of Go, whose registers follow from the types of all of them; null for what is no number,
// or is nowhere. Empty: there is no debug information.
std::vector<hir::Expr*> bind_arguments(const ResolvedPoint& point, Range range, Binder& binder);

// The result's type where it is an integer of fewer bytes than the register that has it; null for others, and where
// the type is not known.
const Type* narrow_result(const ResolvedPoint& point);

} // namespace sonde
