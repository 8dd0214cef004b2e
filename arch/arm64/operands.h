// The memory that an instruction accesses, and the general registers that it uses.
#pragma once

#include <cstdint>
#include <optional>

#include "arch/arm64/decode.h"

namespace sonde::arm64 {

struct Access {
    int base = -1; // 31: the stack pointer; -1: the address is fixed, and `displacement` counts from the instruction
    int64_t displacement = 0; // from the base before the instruction
    int index = -1;
    bool is_load = false, is_store = false;
    bool is_vector = false;
    // The registers that are loaded or stored, and the bytes of each. 31: the register with the value 0.
    int first = -1, second = -1;
    uint64_t size = 0;
    // The number that is added to the base, which the instruction writes then. Empty: unknown.
    bool moves_base = false;
    std::optional<int64_t> movement = 0;
};

// Returns nullopt for instructions that do not access memory, and for rare ones that access it in other ways.
std::optional<Access> access_of(const Arm64Instruction& one);

struct RegisterUses {
    uint32_t reads = 0, writes = 0; // sets of general registers, with a bit for each number of DWARF
    uint32_t writes_vectors = 0;
    bool is_known = true; // otherwise any register may be read and written
};
RegisterUses uses_of(const Arm64Instruction& one);

// The number of a register with its displacement if the instruction adds a constant: `add x29, sp, #16`.
int64_t added_constant(const Arm64Instruction& one);

} // namespace sonde::arm64
