// How instructions use rax, in which functions return integers.
//
// rax is not only named by the fields of an encoding: multiplications, string conversions and short forms of arithmetic
// use it implicitly, and writing to eax, ax or al counts as writing rax. For example, `xor %eax,%eax` overwrites it
// without reading it, although both fields name it.
#include "arch/x86_64/classify.h"
#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

// Whether the operands of an instruction (without a vector prefix) are rax.
struct Operands {
    bool reg = false;     // the operand in the `reg` field of the ModRM byte
    bool rm = false;      // the operand in the `rm` field, if it is a register
    bool address = false; // part of the memory operand's address
    bool opcode = false;  // in the last three bits of the opcode
};

Operands operands_of(const X86Instruction& one) {
    Operands out;
    out.opcode = opcode_field(one) == 0;
    if (!one.has_modrm)
        return out;
    out.reg = reg_field(one) == 0;
    out.rm = !has_memory(one) && rm_field(one) == 0;
    out.address = one.base == 0 || one.index == 0;
    return out;
}

ResultUse if_read(bool reads) { return reads ? ResultUse::Read : ResultUse::None; }

// add, or, adc, sbb, and, sub, xor, cmp.
ResultUse use_of_arithmetic(uint8_t opcode, const Operands& has) {
    if ((opcode & 7) >= 4)
        return ResultUse::Read; // an operation on al or eax and a number
    // `xor` and `sub` of a register with itself do not read it.
    const bool clears = has.reg && has.rm && (opcode >> 3 == 6 || opcode >> 3 == 5);
    return clears ? ResultUse::Write : if_read(has.reg || has.rm || has.address);
}

// One-byte opcodes.
ResultUse use_of_plain(const X86Instruction& one, const Operands& has) {
    const uint8_t opcode = one.opcode;
    const auto moved = [&](bool from, bool to) {
        return from || has.address ? ResultUse::Read : to ? ResultUse::Write : ResultUse::None;
    };
    if (opcode < 0x40 && (opcode & 7) < 6)
        return use_of_arithmetic(opcode, has);
    // Short forms of a constant: `or $-1` and `and $0`.
    const bool sets = (opcode == 0x83 || opcode == 0x81) &&
                      ((one.extension() == 1 && one.immediate == -1) || (one.extension() == 4 && one.immediate == 0));
    if (sets && has.rm)
        return ResultUse::Write;
    switch (opcode) {
    case 0x88:
    case 0x89:
        return moved(has.reg, has.rm);
    case 0x8a:
    case 0x8b:
    case 0x63:
    case 0x8d:
    case 0x69:
    case 0x6b:
        return moved(has.rm, has.reg);
    case 0xc6:
    case 0xc7:
        return moved(false, has.rm);
    case 0x98:
    case 0x99:
    case 0xa8:
    case 0xa9:
        return ResultUse::Read;
    case 0xf6:
    case 0xf7: // from 4 on multiplication and division, which use rax
        return if_read(has.rm || has.address || one.extension() >= 4);
    case 0xc2:
    case 0xc3:
    case 0xe8:
    case 0xe9:
    case 0xeb:
    case 0xcc:
    case 0xf4:
        return ResultUse::End;
    case 0x84:
    case 0x85:
    case 0x86:
    case 0x87:
        return if_read(has.reg || has.rm || has.address);
    default:
        break;
    }
    if (opcode >> 3 == 0x50 >> 3) // push
        return if_read(has.opcode);
    if (opcode == 0x58 || opcode == 0xb0 || opcode == 0xb8) // pop, mov of a number
        return has.opcode ? ResultUse::Write : ResultUse::None;
    if (opcode > 0x90 && opcode < 0x98) // xchg with rax
        return ResultUse::Read;
    if (one.is_call() || one.is_indirect_jump())
        return has.rm || has.address ? ResultUse::Read : ResultUse::End;
    return if_read(one.has_modrm && (has.rm || has.address));
}

// Opcodes after 0f that write a vector's part or its conversion to the general register in the `reg` field.
bool writes_from_vector(const X86Instruction& one) {
    return one.map == 1 && names_vector(one, Field::Rm) && !names_vector(one, Field::Reg);
}

} // namespace

ResultUse use_of_rax(const X86Instruction& one) {
    if (one.is_vector)
        return ResultUse::None;
    const Operands has = operands_of(one);
    if (one.map == 0)
        return use_of_plain(one, has);
    constexpr uint8_t nop = 0x1f; // its operands are not read
    if (one.map == 1 && one.opcode == nop)
        return ResultUse::None;
    const bool extends =
        one.map == 1 && (one.opcode == 0xb6 || one.opcode == 0xb7 || one.opcode == 0xbe || one.opcode == 0xbf);
    if ((has.rm && !names_vector(one, Field::Rm)) || has.address)
        return ResultUse::Read;
    if (extends || writes_from_vector(one))
        return has.reg ? ResultUse::Write : ResultUse::None;
    const bool is_cmov_or_imul = one.map == 1 && (one.opcode >> 4 == 4 || one.opcode == 0xaf);
    return is_cmov_or_imul && has.reg ? ResultUse::Read : ResultUse::None;
}

} // namespace sonde::x86
