// How instructions use rax and rdx, in which functions return integers.
//
// The registers are not only named by the fields of an encoding: multiplications, string conversions and short forms of
// arithmetic use them implicitly, and writing to eax, ax or al counts as writing rax. For example, `xor %eax,%eax`
// overwrites rax without reading it, although both fields name it.
//
// An overlooked read makes sonde refuse a result that exists. An overlooked write makes it print a wrong one, so an
// instruction in doubt ends the search.
#include "arch/x86_64/classify.h"
#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

// Whether the operands of an instruction (without a vector prefix) are the register.
struct Operands {
    int result = rax;     // the register
    bool reg = false;     // the operand in the `reg` field of the ModRM byte
    bool rm = false;      // the operand in the `rm` field, if it is a register
    bool address = false; // part of the memory operand's address
    bool opcode = false;  // in the last three bits of the opcode
};

Operands operands_of(const X86Instruction& one, int result) {
    const auto is_result = [&](int number) { return dwarf_number(number) == result; };
    Operands out{.result = result, .opcode = is_result(opcode_field(one))};
    if (!one.has_modrm)
        return out;
    out.reg = is_result(reg_field(one));
    out.rm = !has_memory(one) && is_result(rm_field(one));
    out.address = is_result(one.base) || is_result(one.index);
    return out;
}

ResultUse if_read(bool reads) { return reads ? ResultUse::Read : ResultUse::None; }

// add, or, adc, sbb, and, sub, xor, cmp.
ResultUse use_of_arithmetic(uint8_t opcode, const Operands& has) {
    if ((opcode & 7) >= 4)
        return if_read(has.result == rax); // an operation on al or eax and a number
    // `xor` and `sub` of a register with itself do not read it.
    const bool clears = has.reg && has.rm && (opcode >> 3 == 6 || opcode >> 3 == 5);
    return clears ? ResultUse::Write : if_read(has.reg || has.rm || has.address);
}

// From extension 4 on multiplication and division, which use rax. Those of more than a byte have a result in rdx, too,
// and a division reads it.
ResultUse use_of_multiplication(const X86Instruction& one, const Operands& has) {
    constexpr int first_division = 6;
    const bool is_implicit = one.extension() >= 4, is_byte = one.opcode == 0xf6;
    if (has.rm || has.address || (is_implicit && has.result == rax))
        return ResultUse::Read;
    if (!is_implicit || is_byte)
        return ResultUse::None;
    return one.extension() >= first_division ? ResultUse::Read : ResultUse::Write;
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
    case 0xa8:
    case 0xa9:
        return if_read(has.result == rax);
    case 0x99: // extends the sign of rax to rdx
        return has.result == rax ? ResultUse::Read : ResultUse::Write;
    case 0xf6:
    case 0xf7:
        return use_of_multiplication(one, has);
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
    const uint8_t base = opcode & 0xf8;
    if (base == 0x58 || base == 0xb0 || base == 0xb8) // pop, mov of a number
        return has.opcode ? ResultUse::Write : ResultUse::None;
    if (opcode > 0x90 && opcode < 0x98) // xchg with rax
        return if_read(has.result == rax || has.opcode);
    if ((opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xaf) || (opcode >= 0xe4 && opcode <= 0xef))
        return ResultUse::End; // strings, ports
    if (one.is_call() || one.is_indirect_jump())
        return has.rm || has.address ? ResultUse::Read : ResultUse::End;
    return if_read(one.has_modrm && (has.rm || has.address));
}

// Opcodes after 0f that write a vector's part or its conversion to the general register in the `reg` field.
bool writes_from_vector(const X86Instruction& one) {
    return one.map == 1 && names_vector(one, Field::Rm) && !names_vector(one, Field::Reg);
}

// Whether an instruction with a vector prefix writes general registers: those of BMI, and moves, masks and conversions
// of AVX.
bool may_write_general(const X86Instruction& one) {
    switch (one.map) {
    case 1:
        return one.opcode == 0x2c || one.opcode == 0x2d || one.opcode == 0x50 || one.opcode == 0x78 ||
               one.opcode == 0x79 || one.opcode == 0x7e || one.opcode == 0x93 || one.opcode == 0xc5 ||
               one.opcode == 0xd7;
    case 2:
        return one.opcode >= 0xf0;
    case 3:
        return (one.opcode >= 0x14 && one.opcode <= 0x17) || one.opcode == 0xf0;
    default:
        return one.map > 3;
    }
}

// Whether an instruction after 0f uses rax or rdx without naming them: system calls, time stamps, cpuid, cmpxchg.
bool is_implicit(const X86Instruction& one) {
    const uint8_t op = one.opcode;
    return op == 0x01 || op == 0x05 || op == 0x34 || (op >= 0x30 && op <= 0x33) || op == 0xa2 || op == 0xb0 ||
           op == 0xb1 || op == 0xc7;
}

// Whether an instruction after 0f writes the `rm` field without reading it: setCC, and moves from a vector register.
bool writes_only_rm(const X86Instruction& one) {
    const bool is_move_to_general = one.opcode == 0x7e && one.operand16 && one.repeat != 0xf3; // movd, movq
    return (one.map == 1 && (one.opcode >> 4 == 9 || is_move_to_general)) ||
           (one.map == 3 && one.opcode >= 0x14 && one.opcode <= 0x17);
}

} // namespace

// The order matters: an instruction that reads the register through its address or its `rm` field counts as a read,
// even if it also writes the register. `movzbl (%rax),%eax` is such a case.
ResultUse use_of_result(const X86Instruction& one, int result) {
    if (one.is_vector)
        return may_write_general(one) ? ResultUse::End : ResultUse::None;
    const Operands has = operands_of(one, result);
    if (one.map == 0)
        return use_of_plain(one, has);
    constexpr uint8_t nop = 0x1f; // its operands are not read
    if (one.map == 1 && one.opcode == nop)
        return ResultUse::None;
    if (one.map == 1 && is_implicit(one))
        return ResultUse::End;
    if (writes_only_rm(one) && has.rm)
        return ResultUse::Write;
    // movzx, movsx; lar, lsl; popcnt, bsf, bsr
    const bool extends = one.map == 1 && (one.opcode == 0xb6 || one.opcode == 0xb7 || one.opcode == 0xbe ||
                                          one.opcode == 0xbf || one.opcode == 0x02 || one.opcode == 0x03 ||
                                          one.opcode == 0xb8 || one.opcode == 0xbc || one.opcode == 0xbd);
    if ((has.rm && !names_vector(one, Field::Rm)) || has.address)
        return ResultUse::Read;
    if (extends || writes_from_vector(one))
        return has.reg ? ResultUse::Write : ResultUse::None;
    if (one.map == 2 && one.opcode >= 0xf0 && has.reg) // movbe, crc32
        return ResultUse::End;
    const bool is_cmov_or_imul = one.map == 1 && (one.opcode >> 4 == 4 || one.opcode == 0xaf);
    return is_cmov_or_imul && has.reg ? ResultUse::Read : ResultUse::None;
}

} // namespace sonde::x86
