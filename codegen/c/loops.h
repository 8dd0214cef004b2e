// Loops of C, such that the verifier sees them end: each turn of a loop takes one of the function's turns.
#pragma once

#include "codegen/c/body.h"
#include "codegen/c/pointers.h"

namespace sonde {

// Before accesses are secured: what loops change becomes unknown, and pointers that move become distances.
void loosen_loops(CBody& body, CPointers& pointers);

// Afterwards.
void bound_loops(CBody& body, CPointers& pointers);

} // namespace sonde
