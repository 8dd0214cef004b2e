// Which fields of ModRM name vector registers. The rule follows the ranges of the opcode maps (Intel SDM volume 2,
// appendix A); the comments name the exceptions.
#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

bool between(uint8_t value, uint8_t low, uint8_t high) { return value >= low && value <= high; }

// Whether an opcode after 0f has a vector register in at least one of its fields.
bool is_vector_opcode(uint8_t op) {
    return between(op, 0x10, 0x17) || between(op, 0x28, 0x2f) || between(op, 0x50, 0x7f) || op == 0xc2 ||
           between(op, 0xc4, 0xc6) || op >= 0xd0;
}

} // namespace

// 66 0f 7e and f3 0f 7e differ: the first one writes a general register.
bool names_vector(const X86Instruction& one, Field field) {
    const uint8_t op = one.opcode;
    if (one.map == 2)
        return op < 0xf0;
    if (one.map == 3)
        return field == Field::Reg || (op != 0x20 && op != 0x22); // pinsrb, pinsrd
    if (!is_vector_opcode(op))
        return false;
    if (field == Field::Rm)
        return op != 0x2a && op != 0x6e && op != 0xc4;                         // cvtsi2ss, movd, pinsrw
    return op != 0x2c && op != 0x2d && op != 0x50 && op != 0xc5 && op != 0xd7; // cvttss2si, movmskps, pextrw, pmovmskb
}

} // namespace sonde::x86
