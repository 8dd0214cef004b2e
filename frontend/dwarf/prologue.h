// Follows the first instructions of a function to see what they do with the arguments: copy them to other registers, or
// store them in the frame.
//
// A variable with one location for the whole function is not yet stored at the entry:
//
//     push %rbx
//     mov  %edi,%ebx        <- from the next instruction on, rbx has the parameter
//
// Optimized code fills these places anywhere in the first basic block, and the line table does not tell where. So this
// simulates the block, one instruction after the other, up to the first jump or call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "frontend/machine/address.h"
#include "frontend/machine/location.h"

namespace sonde {

// The known state before an instruction. Registers have their DWARF numbers.
struct PrologueState {
    Address address = 0; // of the next instruction
    // Whether a general purpose register contains a value that the caller passed in a register.
    bool passed[32] = {};
    // Bytes of the frame that contain such values: begin -> end, relative to the canonical frame address (CFA).
    std::map<int64_t, int64_t> filled;
    // The values of these registers relative to the CFA; nullopt if unknown.
    std::optional<int64_t> stack_pointer, frame_pointer;

    // Whether all bytes in [from, to) are filled.
    bool is_filled(int64_t from, int64_t to) const;
};

// Returns the state before each instruction of the first block, at most 128. `code` are the bytes at `entry`.
std::vector<PrologueState> follow_prologue(const Architecture& architecture, std::string_view code, Address entry);

// Returns the operations that compute, after the code, the value that a register (its DWARF number) had before it: from
// the register, or from the frame. `code` is the beginning of a function. Returns nothing if the value is not known, or
// if the code transfers control.
std::vector<LocationOp> value_of_entry(const Architecture& architecture, std::string_view code, int reg);

// Whether the code may write to [from, to) before it reads there: on one of its ways, and also through a register that
// may point there. The bytes are counted from the value of a register (its DWARF number). Each way ends at a call or a
// change of the stack pointer.
bool may_write_first(const Architecture& architecture, std::string_view code, int reg, int64_t from, int64_t to);

} // namespace sonde
