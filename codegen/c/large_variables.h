// Moves C variables that the BPF stack (512 bytes) cannot hold into slots.
#pragma once

#include "codegen/c/body.h"

namespace sonde {

// The bytes of stack that the variables of one function may use.
constexpr uint64_t most_on_stack = 256;

// Chooses the variables to move (CBody::moved): large ones, and those into which text is written at an unknown offset
// with an unknown size. The verifier allows the latter only in memory with room for the sum of both.
void choose_moved(CBody& body);

// Moves these variables into slots.
void move_to_slots(CBody& body);

} // namespace sonde
