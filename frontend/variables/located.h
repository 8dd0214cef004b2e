// Whether a variable has a location, for `@defined`.
#pragma once

#include "frontend/variables/variables.h"

namespace sonde {

// Whether the variable, member or element has a location at `point`: a number that can be read, or an object of which
// at least a part can be read. Reports errors like bind_target().
bool is_located(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);

} // namespace sonde
