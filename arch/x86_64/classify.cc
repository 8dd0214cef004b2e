// Most analyses need only the flow of an instruction, and some of them decode all code of a program. So this looks at
// each instruction's opcode a few times and at nothing else.
//
// An opcode alone does not name an instruction, so the prefix and the opcode map are checked first. For example, 0xff
// is an increment, a call, a jump or a push. A field of ModRM decides. After a vector prefix, 0xff is none of these.
#include "arch/x86_64/classify.h"

#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

bool between(uint8_t value, uint8_t low, uint8_t high) { return value >= low && value <= high; }

// Opcodes after 0f that end the flow: ud2, ud1, ud0, sysret, sysexit.
bool stops(uint8_t op) { return op == 0x0b || op == 0xb9 || op == 0xff || op == 0x07 || op == 0x35; }

Flow flow_of(const X86Instruction& one) {
    if (one.is_vector || one.map > 1)
        return Flow::Next;
    if (one.map == 1)
        return between(one.opcode, 0x80, 0x8f) ? Flow::ConditionalJump : stops(one.opcode) ? Flow::Stop : Flow::Next;
    switch (one.opcode) {
    case 0xc2:
    case 0xc3:
        return Flow::Return;
    case 0xe8:
        return Flow::Call;
    case 0xe9:
    case 0xeb:
        return Flow::Jump;
    case 0xe0: // loop, jrcxz
    case 0xe1:
    case 0xe2:
    case 0xe3:
        return Flow::CountingJump;
    case 0xff:
        return one.extension() == 2   ? Flow::IndirectCall
               : one.extension() == 4 ? Flow::IndirectJump
               : one.extension() == 5 ? Flow::FarJump
                                      : Flow::Next;
    case 0xca: // far return
    case 0xcb:
    case 0xcf:
    case 0xf4: // hlt
    case 0xcc: // int3
        return Flow::Stop;
    default:
        return between(one.opcode, 0x70, 0x7f) ? Flow::ConditionalJump : Flow::Next;
    }
}

// Whether the instruction writes to its memory operand. Rare instructions are missing.
bool writes_memory(const X86Instruction& one) {
    if (!has_memory(one))
        return false;
    if (one.map == 1 && (one.is_vector || one.opcode < 0x80))
        return one.opcode == 0x11 || one.opcode == 0x13 || one.opcode == 0x17 || one.opcode == 0x29 ||
               one.opcode == 0x2b || one.opcode == 0x7e || one.opcode == 0x7f;
    if (one.is_vector || one.map != 0)
        return !one.is_vector && one.map == 1 && (one.opcode == 0xd6 || one.opcode == 0xe7 || one.opcode >> 4 == 9);
    const int group = one.extension();
    switch (one.opcode) {
    case 0x80:
    case 0x81:
    case 0x83:
        return group != 7; // cmp
    case 0xf6:
    case 0xf7:
        return group == 2 || group == 3; // not, neg
    case 0xfe:
    case 0xff:
        return group <= 1; // inc, dec
    case 0x86:
    case 0x87:
    case 0x88:
    case 0x89:
    case 0xc6:
    case 0xc7:
        return true;
    default:
        return (one.opcode < 0x38 && (one.opcode & 7) < 2) || one.opcode >> 1 == 0x60 || one.opcode >> 2 == 0x34;
    }
}

MemoryOperand memory_of(const X86Instruction& one, X86Mode mode) {
    MemoryOperand out;
    out.exists = has_memory(one);
    if (!out.exists)
        return out;
    out.base = dwarf_number(one.base);
    out.displacement = one.displacement;
    out.is_fixed = one.is_relative();
    out.is_relative = out.is_fixed && mode == X86Mode::Long;
    out.has_index = one.index >= 0;
    out.may_be_element = one.has_sib;
    out.is_written = writes_memory(one);
    return out;
}

// push, pop, call, ret, leave, enter, or an instruction that may write to rsp. A wrong "yes" does no harm.
bool may_move_stack(const X86Instruction& one) {
    if (one.is_vector)
        return false;
    const uint8_t op = one.opcode;
    const bool stack =
        one.map == 0 && (between(op, 0x50, 0x5f) || op == 0x68 || op == 0x6a || op == 0x8f || op == 0x9c ||
                         op == 0x9d || op == 0xc8 || op == 0xc9 || (op == 0xff && one.extension() == 6));
    const bool names_rsp = one.has_modrm && (one.extension() == 4 || (one.modrm >> 6 == 3 && (one.modrm & 7) == 4));
    return stack || one.is_call() || one.is_return() || names_rsp;
}

// Nops, int3 and ud2.
bool is_filling(const X86Instruction& one) {
    return !one.is_vector && ((one.map == 0 && (one.opcode == 0x90 || one.opcode == 0xcc)) ||
                              (one.map == 1 && (one.opcode == 0x1f || one.opcode == 0x0b)));
}

// Zeros, and instructions that are for the kernel only.
bool is_uncommon(const X86Instruction& one) {
    if (one.is_vector)
        return false;
    const uint8_t op = one.opcode;
    const bool is_zeros = op == 0 && one.modrm == 0 && one.length == 2;
    if (one.map == 0)
        return is_zeros || between(op, 0x6c, 0x6f) || between(op, 0xe4, 0xe7) || between(op, 0xec, 0xef) ||
               between(op, 0xfa, 0xfb) || op == 0xf1 || op == 0xf4 || op == 0xcc || op == 0xca || op == 0xcb ||
               op == 0xcf || op == 0x9b;
    return one.map == 1 && (between(op, 0x06, 0x09) || between(op, 0x20, 0x23) || op == 0x30 || op == 0x32 ||
                            op == 0x33 || op == 0x35 || op == 0x0f);
}

// Sets the operation of an instruction with an opcode of one byte, and its registers.
void set_operation(const X86Instruction& one, Instruction& out) {
    const bool in_register = one.modrm >> 6 == 3;
    const int reg = dwarf_number(reg_field(one)), rm = in_register ? dwarf_number(rm_field(one)) : -1;
    auto set = [&](Operation operation, int to, int from) {
        out.operation = operation;
        out.to = to;
        out.from = from;
    };
    switch (one.opcode) {
    case 0x01:
        if (in_register)
            set(Operation::Add, rm, reg);
        return;
    case 0x03:
        return set(Operation::Add, reg, rm);
    case 0x3b:
        return set(Operation::Compare, reg, rm);
    case 0x3c:
    case 0x3d:
    case 0x80:
    case 0x81:
    case 0x83:
        return set(Operation::WithConstant, -1, -1);
    case 0x8b:
    case 0x63: // movslq
        return set(Operation::Load, reg, rm);
    case 0x8d:
        return set(Operation::Address, reg, -1);
    case 0x90:
        return set(Operation::Nothing, -1, -1);
    case 0xc7:
        return set(Operation::Constant, rm, -1);
    case 0x68:
    case 0x6a:
        return set(Operation::Push, -1, -1);
    case 0xff:
        if (one.is_indirect_jump())
            out.from = rm;
        return;
    default:
        if (between(one.opcode, 0x50, 0x57) && !one.operand16)
            return set(Operation::Push, -1, dwarf_number(opcode_field(one)));
        if (between(one.opcode, 0xb8, 0xbf))
            return set(Operation::Constant, dwarf_number(opcode_field(one)), -1);
    }
}

} // namespace

Instruction classify(const X86Instruction& one, X86Mode mode) {
    Instruction out;
    out.length = one.length;
    out.flow = flow_of(one);
    out.memory = memory_of(one, mode);
    out.moves_stack = may_move_stack(one);
    out.is_filling = is_filling(one);
    out.is_uncommon = is_uncommon(one);
    out.immediate = one.immediate;
    if (out.flow == Flow::ConditionalJump)
        out.condition = one.opcode & 0xf;
    if (out.is_direct_jump() || out.flow == Flow::Call)
        out.distance = one.immediate;
    if (is_plain(one))
        set_operation(one, out);
    // `0f 1f` is the long nop; its operand is not read. `f3 0f 1e fa` is endbr64; all other codes 0f 1e are nops too.
    else if (!one.is_vector && one.map == 1 && (one.opcode == 0x1f || one.opcode == 0x1e))
        out.operation = Operation::Nothing;
    return out;
}

} // namespace sonde::x86
