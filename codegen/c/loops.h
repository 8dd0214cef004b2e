// Bounds loops in C: each turn of a loop takes one of the function's turns (MAXACTION).
#pragma once

#include "codegen/c/body.h"
#include "codegen/c/pointers.h"

namespace sonde {

// Makes the variables of loops unknown to the verifier, and replaces moving pointers by distances. Call it before
// accesses are secured.
void loosen_loops(CBody& body, CPointers& pointers);

// Adds the bounds. Call it after accesses are secured.
void bound_loops(CBody& body, CPointers& pointers);

} // namespace sonde
