// Finds instructions that the kernel's uprobes may execute wrongly.
//
// To execute a probed jump, call, push or nop, the kernel emulates it. It recognizes these instructions by their opcode
// byte (arch/x86/kernel/uprobes.c: branch_setup_xol_ops(), push_setup_xol_ops(), and the switch in
// arch_uprobe_analyze_insn()). It does not check for a VEX, EVEX or XOP prefix, with which the same byte means another
// instruction. For example, it mistakes `vpor` (VEX.66.0F EB) for `jmp` and jumps over some bytes. A probe there would
// change what the program computes.
#pragma once

#include <cstdint>
#include <span>

#include "arch/instruction_hazards.h"
#include "arch/x86_64/decode.h"

namespace sonde {

// All classes: those of Hazard with the same numbers, and those of x86.
enum class X86Hazard : uint8_t {
#define HAZARD(id, trial, effect, place, text) id,
#include "arch/instruction_hazards.def"
#include "arch/x86_64/hazards.def"
#undef HAZARD
};
// The facts about them, by number.
std::span<const HazardTraits> x86_hazards();

// Returns the class of a decoded instruction.
X86Hazard hazard_of(const X86Instruction& instruction);

// Whether the instruction leaves everything that a handler can read unchanged (integer registers, flags, memory and
// stack), and continues with the next instruction. This is true for a nop, and for an AVX instruction that only writes
// vector registers. Returns false in doubt.
bool leaves_state(const X86Instruction& instruction);

} // namespace sonde
