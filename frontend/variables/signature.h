// Facts about the probed function's signature, for `int_arg(n)` and `returnval()`, which name no variable and so have
// no type.
#pragma once

#include <vector>

#include "frontend/variables/variables.h"

namespace sonde {

// The arguments of a Go function, whose registers depend on the types of all arguments. Null for arguments that are not
// numbers or have no location. Empty if there is no debug information.
std::vector<hir::Expr*> bind_arguments(const ResolvedPoint& point, Range range, Binder& binder);

// The result's type if it is an integer that is smaller than its register. Null for other types, and if the type is
// unknown.
const Type* narrow_result(const ResolvedPoint& point);

} // namespace sonde
