// Where a variable's value is at one instruction: DWARF location expressions, evaluated at compile time to data.
//
// Frame base and CFA are already substituted: only user registers (DWARF numbers), constants, user memory and
// arithmetic remain, so that lowering is a few instructions. DWARF 5 section 2.6.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sonde {

// One operation of a small stack machine; all values are 64 bits.
struct LocationOp {
    enum Code {
        Register, // push user register `operand` (DWARF number)
        Constant, // push operand
        Deref,    // pop address, push `operand` bytes (1, 2, 4, 8) of user memory, zero extended
        // Pop b, pop a, push a op b. Div is signed, Mod is not.
        Add,
        Sub,
        Mul,
        Div,
        Mod,
        And,
        Or,
        Xor,
        Shl,
        Shr,
        Sar,
        // Replace the top.
        Neg,
        Not,
        Abs,
        // Pop b, pop a, compare them signed, push 0 or 1.
        Eq,
        Ne,
        Lt,
        Le,
        Gt,
        Ge,
        // As DWARF defines them. Pick: push a copy of the entry `operand` below the top (0 is the top).
        Dup,
        Drop,
        Swap,
        Over,
        Rot,
        Pick,
        ThreadBase, // push the thread pointer (fs base)
    } code;
    int64_t operand = 0;

    bool operator==(const LocationOp&) const = default;
};

struct Location {
    enum Kind {
        Unavailable, // `why` says it in words
        Memory,      // ops leave the address
        Register,    // the value is in user register `reg`
        Value,       // ops leave the value itself (DW_OP_stack_value, DW_AT_const_value)
        Bytes,       // DW_OP_implicit_value: `bytes`
        Pieces,      // composed of `pieces`, in order of increasing offset
    } kind = Unavailable;
    std::vector<LocationOp> ops;
    int reg = -1;
    std::vector<uint8_t> bytes;
    struct Piece;
    std::vector<Piece> pieces;
    bool of_entry = false; // the operations are about registers as they were when the function was entered
    std::string why;       // "optimized out at this address"
};

struct Location::Piece {
    uint32_t byte_size = 0;
    Location place; // may be Unavailable
};

// No place, and why.
inline Location unavailable(std::string why) {
    Location location;
    location.why = std::move(why);
    return location;
}

} // namespace sonde
