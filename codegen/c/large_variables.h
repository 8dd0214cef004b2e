// Variables of C that are no good on BPF's stack of 512 bytes, or there at all.
#pragma once

#include "codegen/c/body.h"

namespace sonde {

// How many bytes the variables of a function can have on the stack.
constexpr uint64_t most_on_stack = 256;

// Chooses those that become slots (CBody::moved): large ones, and those into which a text is written at a place and
// with a size that are both unknown, which the verifier allows only where there is room for both.
void choose_moved(CBody& body);

// Makes slots of them.
void move_to_slots(CBody& body);

} // namespace sonde
