// The registers that a sample of an instruction can change (arch/instruction_trial.h). The assembly code in
// instruction_trial.cc stores them at fixed offsets, so the order of the members matters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sonde {

struct TrialState {
    std::array<uint64_t, 16> registers; // in the order of their numbers in instructions: rax, rcx, rdx, rbx, rsp, ...
    uint64_t flags;
    std::array<std::array<uint8_t, 16>, 4> vectors;
    uint64_t place; // the instruction pointer at a signal
    uint64_t signal;
};

// Signals do not overwrite these bytes below the stack pointer.
constexpr size_t red_zone = 128;

} // namespace sonde
