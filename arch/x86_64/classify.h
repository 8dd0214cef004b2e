// Translates decoded instructions to the terms of arch/instruction.h.
#pragma once

#include "arch/instruction.h"
#include "arch/x86_64/decode.h"

namespace sonde::x86 {

// `mode`: that in which the instruction was decoded. `out` must be fresh.
void classify(const X86Instruction& one, X86Mode mode, Instruction& out);

// See Architecture.
Effect effect_of(const X86Instruction& one, X86Mode mode);
// `result`: rax or rdx.
ResultUse use_of_result(const X86Instruction& one, int result);

} // namespace sonde::x86
