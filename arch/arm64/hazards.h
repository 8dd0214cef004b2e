// Finds instructions that the kernel's uprobes refuse or may execute wrongly.
//
// The kernel emulates branches, adr, adrp and some hints, and executes copies of all other instructions elsewhere
// (arch/arm64/kernel/probes/decode-insn.c). It refuses some instructions that use their own address, but misses others:
// literal loads of vector registers, and instructions that are newer than the kernel.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "arch/arm64/decode.h"
#include "arch/instruction_hazards.h"

namespace sonde::arm64 {

// All classes: those of sonde::Hazard with the same numbers, and those of arm64.
enum class Arm64Hazard : uint8_t {
#define HAZARD(id, trial, effect, place, text) id,
#include "arch/instruction_hazards.def"
// the neutral classes have the first numbers
#include "arch/arm64/hazards.def"
#undef HAZARD
};
// The facts about them, by number.
std::span<const HazardTraits> arm64_hazards();

// Returns the class of an instruction by itself.
Arm64Hazard hazard_of(const Arm64Instruction& one);
// Whether the instruction at the offset `at` is between an exclusive load and its store.
bool is_between_exclusives(std::string_view code, size_t at);
// The number of bytes before and behind an instruction in which these can be. The manual (section B2.12.5) requires
// that at most 128 bytes are between them.
constexpr size_t exclusive_context = 256;

// See Architecture.
bool leaves_state(const Arm64Instruction& one);
bool is_single_stepped(const Arm64Instruction& one);

} // namespace sonde::arm64
