// The registers that a sample of an instruction can change (arch/instruction_trial.h). The assembly code in
// instruction_trial.cc stores them at fixed offsets, so the order of the members matters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sonde {

struct TrialState {
    std::array<uint64_t, 32> registers; // x0 to x30, sp. x17 is that of the switch.
    uint64_t flags;                     // NZCV
    std::array<std::array<uint8_t, 16>, 4> vectors;
    uint64_t place; // the program counter at a signal
    uint64_t signal;
};

// The ABI has no red zone.
constexpr size_t red_zone = 0;

} // namespace sonde
