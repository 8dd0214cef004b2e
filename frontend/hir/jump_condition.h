// Converts the condition of a conditional jump to an expression that tests the flags of the probed thread.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "frontend/hir/hir.h"

namespace sonde::hir {

// Builds an expression that is 1 if the thread is going to take the probed jump. `condition` is the low four bits of
// the jump's opcode; for example, 4 means "equal".
Expr* is_jump_taken(Arena& arena, Range range, uint8_t condition);

} // namespace sonde::hir
