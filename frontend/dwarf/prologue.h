// What a function's first instructions do with the registers that its caller passed arguments in: copies to other
// registers, and stores to the frame.
//
// A variable with one location for the whole function is not yet there at the entry. Optimised code fills its place
// anywhere in the first block, in no fixed distance from the lines that the line table has. So the block is followed,
// one instruction after the other, up to the first jump or call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/types/address.h"

namespace sonde {

// Registers have DWARF's numbers.
struct PrologueState {
    Address address = 0; // of the instruction that comes next
    // Whether a general purpose register has a value that the caller passed in a register.
    bool passed[16] = {};
    // Bytes of the frame that have been filled with such values: beginnings and ends, relative to the frame's
    // canonical address (CFA).
    std::map<int64_t, int64_t> filled;
    // Where these registers point to, relative to the CFA; nullopt: not known.
    std::optional<int64_t> rsp, rbp;

    // Whether all bytes of [from, to) are filled.
    bool is_filled(int64_t from, int64_t to) const;
};

// The state before each instruction of the first block, from the entry on; at most 128 of them. `code` begins at
// `entry`.
std::vector<PrologueState> follow_prologue(std::string_view code, Address entry);

} // namespace sonde
