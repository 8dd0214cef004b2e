// The condition of a conditional jump, as an expression over the probed thread's flags.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "frontend/hir/hir.h"

namespace sonde::hir {

// Whether the thread takes a jump that is probed. `condition`: the low four bits of its opcode (4 is "equal").
Expr* is_jump_taken(Arena& arena, Range range, uint8_t condition);

} // namespace sonde::hir
