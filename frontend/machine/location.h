// The location of a variable at one instruction: DWARF location expressions, converted at compile time to data.
//
// The frame base and the canonical frame address (CFA) are already replaced by their definitions. Only user registers
// (by DWARF number), constants, user memory and arithmetic remain, so the lowering needs only a few instructions.
// Source: DWARF 5, section 2.6.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sonde {

// One operation of a stack machine. All values have 64 bits.
struct LocationOp {
    enum Code {
        Register, // push the user register `operand` (DWARF number)
        Constant, // push `operand`
        Deref,    // pop an address, push the `operand` bytes (1, 2, 4, 8) of user memory there, extended with zeros
        // Pop b, pop a, push a OP b. Div is signed, Mod is unsigned.
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
        // Replace the top of the stack.
        Neg,
        Not,
        Abs,
        // Pop b, pop a, compare them as signed numbers, push 0 or 1.
        Eq,
        Ne,
        Lt,
        Le,
        Gt,
        Ge,
        // Stack operations as in DWARF. Pick pushes a copy of the entry `operand` below the top (0 is the top).
        Dup,
        Drop,
        Swap,
        Over,
        Rot,
        Pick,
        ThreadBase, // push the thread pointer
        Choose, // pop c, pop b, pop a, push b if a is not 0, else c. The operations of the other one read no memory.
    } code;
    int64_t operand = 0;

    bool operator==(const LocationOp&) const = default;
};

// A location. Which members are used depends on `kind`.
struct Location {
    enum Kind {
        Unavailable, // `why` has the reason
        Memory,      // `ops` compute the address
        Register,    // the value is in the user register `reg`
        Value,       // `ops` compute the value (DW_OP_stack_value, DW_AT_const_value)
        Bytes,       // the value is `bytes` (DW_OP_implicit_value)
        Pieces,      // the value consists of `pieces`, in order of increasing offset
    } kind = Unavailable;
    std::vector<LocationOp> ops;
    int reg = -1;
    std::vector<uint8_t> bytes;
    struct Piece;
    std::vector<Piece> pieces;
    bool of_entry = false; // the operations use the registers' values at the function's entry
    std::string why;       // "was optimized out at this address"
    // Unavailable, of a pointer or reference: the object that it points to, `pointee_offset` bytes after this location.
    // The compiler has optimized the pointer out, but describes the object (DW_OP_implicit_pointer). Null for other
    // values.
    std::shared_ptr<const Location> pointee;
    int64_t pointee_offset = 0;
};

// A part of a value that is stored in several places.
struct Location::Piece {
    uint32_t byte_size = 0;
    Location place; // may be Unavailable
};

// Returns a location of kind Unavailable with a reason.
inline Location unavailable(std::string why) {
    Location location;
    location.why = std::move(why);
    return location;
}

} // namespace sonde
