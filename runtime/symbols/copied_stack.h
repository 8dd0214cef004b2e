// Unwinds the copy of a stack that a handler has made (runtime/plan/copied_memory.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/load/load.h"
#include "runtime/plan/stack_copy.h"

namespace sonde {

class Symbols;

// The copy with its memory and its functions. Their paths and linked addresses are not filled.
struct CopiedStack {
    plan::StackCopy copy;
    std::vector<uint64_t> addresses; // of the functions, as in the process
    uint64_t stack_end = 0;          // the first address of the stack that was not copied
    uint64_t left_out = 0;           // how often a word pointed to memory for which the copy has no room
};

// Reads the copy from the kernel, and unwinds it with the tables that handlers use. At most `most` functions. Fails if
// no hit of the process was copied.
Result<CopiedStack> read_copied_stack(const KernelObject& kernel, Symbols& symbols, uint64_t process, uint64_t most);

} // namespace sonde
