// Translates decoded instructions to the terms of arch/instruction.h.
#pragma once

#include "arch/arm64/decode.h"
#include "arch/instruction.h"

namespace sonde::arm64 {

// `out` must be fresh.
void classify(const Arm64Instruction& one, Instruction& out);

// See Architecture.
Effect effect_of(const Arm64Instruction& one);
// `result`: x0 or x1.
ResultUse use_of_result(const Arm64Instruction& one, int result);

} // namespace sonde::arm64
