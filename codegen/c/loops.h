// Loops of C, such that the verifier sees them end: each turn of a loop takes one of the function's turns.
#pragma once

#include "codegen/c/body.h"
#include "codegen/c/pointers.h"

namespace sonde {

// may_goto ends a loop to the verifier as soon as two of its turns look the same. So what a loop counts must be
// unknown to it at the loop's head, and a pointer that moves must be a distance, which is checked where memory is
// accessed.
void loosen_loops(CBody& body, CPointers& pointers);

// The verifier follows a number that counts down through all turns. may_goto (6.9) ends a loop to it after a few;
// then the number must be unknown to it.
void bound_loops(CBody& body);

} // namespace sonde
