// Which instructions of x86 the kernel's uprobes may execute wrongly, by what the instruction looks like.
//
// The kernel emulates jumps, calls, pushes and nops, and finds them by their opcode byte (arch/x86/kernel/uprobes.c,
// branch_setup_xol_ops(), push_setup_xol_ops() and the switch of arch_uprobe_analyze_insn()). It does not ask whether a
// VEX, EVEX or XOP prefix makes another instruction of that byte: `vpor` (VEX.66.0F EB) is taken for `jmp`, and
// skipped.
#pragma once

#include <string_view>

#include "base/instruction_hazards.h"
#include "frontend/types/x86_code.h"

namespace sonde {

// The class of a decoded instruction, with the bytes that it consists of.
Hazard hazard_of(const X86Instruction& instruction);

// Whether the instruction leaves all that a handler can read as it was (integer registers, flags, memory and stack) and
// goes on to the next one: a nop, or an AVX instruction that writes vector registers only. `false` in doubt.
bool leaves_state(const X86Instruction& instruction);

} // namespace sonde
