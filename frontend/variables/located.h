// Whether a variable has a location, for `@defined`.
#pragma once

#include "frontend/variables/variables.h"

namespace sonde {

struct Located {
    bool found;
    bool needs_same_types; // Bound::needs_same_types
};
// Finds out whether the variable, member or element has a location at `point`: a number that can be read, or an object
// of which at least a part can be read. Reports errors like bind_target().
Located find_located(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder);

} // namespace sonde
