// Converts the condition of a conditional jump to an expression that tests the flags of the probed thread.
#pragma once

#include <cstdint>

#include "arch/registers.h"
#include "base/arena.h"
#include "frontend/hir/hir.h"

namespace sonde::hir {

// Builds an expression that is 1 if the thread is going to take the probed jump.
Expr* is_jump_taken(Arena& arena, Range range, const RegisterFile& registers, JumpCondition condition);

} // namespace sonde::hir
