// Chooses instructions for sonde's own breakpoints: at a program's first instruction, and in the C library.
//
// The plan's instructions are checked during translation (sound_places.h). Nothing else checks these: a program may
// begin with an instruction that the kernel executes wrongly under a breakpoint, such as `pushf`.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sonde {

// Whether the running kernel executes the instruction at the beginning of `code` correctly under a breakpoint. This may
// run samples of its class (instruction_trial.h).
bool is_sound(std::string_view code);
// Returns the offset of the first instruction in a sequence that every kernel executes correctly. Returns nullopt if a
// jump or an unknown instruction precedes it.
std::optional<size_t> first_sound(std::string_view code);

} // namespace sonde
