// Whether a variable is there, for `@defined`.
#pragma once

#include "frontend/variables/variables.h"

namespace sonde {

// Whether the variable, member or element is somewhere at `point`: a number that can be read, or an object of which at
// least a part can. Reports as bind_target() does.
bool is_located(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);

} // namespace sonde
