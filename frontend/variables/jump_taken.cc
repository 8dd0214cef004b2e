// The condition of a return that is a conditional jump to another function: the jump is taken.
#include "frontend/hir/jump_condition.h"
#include "frontend/variables/variables.h"

namespace sonde {

hir::Expr* bind_jump_taken(const ResolvedPoint& point, Range range, Arena& arena) {
    return point.jump_condition
               ? hir::is_jump_taken(arena, range, point.architecture().registers(), *point.jump_condition)
               : nullptr;
}

} // namespace sonde
