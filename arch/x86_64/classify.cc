// Some analyses decode all code of a program, so this must be fast. Nearly all answers depend only on the opcode map,
// the opcode and the extension. The extension is the field of ModRM that is part of some opcodes: 0xff is an increment,
// a call, a jump or a push. The functions below compute such answers at compile time, for a table with a byte for each
// combination. The other conditions are checked when the table is used: whether the operand is in memory, and the
// registers.
//
// The table has the maps of opcodes with one byte and after 0f. Instructions of other maps continue with the next one,
// and so do vector instructions. Only their memory operands matter.
#include "arch/x86_64/classify.h"

#include <array>

#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

constexpr bool between(uint8_t value, uint8_t low, uint8_t high) { return value >= low && value <= high; }

// Opcodes after 0f that end the flow: ud2, ud1, ud0, sysret, sysexit.
constexpr bool stops(uint8_t op) { return op == 0x0b || op == 0xb9 || op == 0xff || op == 0x07 || op == 0x35; }

constexpr Flow flow_of(const X86Instruction& one) {
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

// Whether an instruction with this opcode after 0f or after a vector prefix writes to its memory operand.
constexpr bool moves_to_memory(uint8_t opcode) {
    return opcode == 0x11 || opcode == 0x13 || opcode == 0x17 || opcode == 0x29 || opcode == 0x2b || opcode == 0x7e ||
           opcode == 0x7f;
}

// Whether the instruction writes to its memory operand, if it has one. Rare instructions are missing.
constexpr bool writes_memory(const X86Instruction& one) {
    if (one.map == 1)
        return moves_to_memory(one.opcode) || one.opcode == 0xd6 || one.opcode == 0xe7 || one.opcode >> 4 == 9;
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

// push, pop, call, ret, leave, enter.
constexpr bool uses_stack(const X86Instruction& one) {
    const uint8_t op = one.opcode;
    const bool stack =
        one.map == 0 && (between(op, 0x50, 0x5f) || op == 0x68 || op == 0x6a || op == 0x8f || op == 0x9c ||
                         op == 0x9d || op == 0xc8 || op == 0xc9 || (op == 0xff && one.extension() == 6));
    return stack || one.is_call() || one.is_return();
}

// Nops, int3 and ud2.
constexpr bool is_filling(const X86Instruction& one) {
    return one.map == 0 ? one.opcode == 0x90 || one.opcode == 0xcc : one.opcode == 0x1f || one.opcode == 0x0b;
}

// Instructions for the kernel only, such as access to ports and control registers, `cli` and `hlt`. Also instructions
// that compilers do not generate for programs: far returns, `int3`, `fwait`, 3DNow!.
constexpr bool is_uncommon(const X86Instruction& one) {
    const uint8_t op = one.opcode;
    if (one.map == 0)
        return between(op, 0x6c, 0x6f) || between(op, 0xe4, 0xe7) || between(op, 0xec, 0xef) ||
               between(op, 0xfa, 0xfb) || op == 0xf1 || op == 0xf4 || op == 0xcc || op == 0xca || op == 0xcb ||
               op == 0xcf || op == 0x9b;
    return between(op, 0x06, 0x09) || between(op, 0x20, 0x23) || op == 0x30 || op == 0x32 || op == 0x33 || op == 0x35 ||
           op == 0x0f;
}

// A byte of the table: the flow in the lower bits, and these.
enum : uint8_t { FlowMask = 0x0f, WritesMemory = 0x10, UsesStack = 0x20, Filling = 0x40, Uncommon = 0x80 };

constexpr int extensions = 8, opcodes = 256;
using Traits = std::array<uint8_t, size_t{opcodes} * extensions>;

consteval Traits traits_of_map(int map) {
    Traits out{};
    for (int i = 0; i < opcodes * extensions; i++) {
        X86Instruction one;
        one.map = map;
        one.opcode = static_cast<uint8_t>(i / extensions);
        one.modrm = static_cast<uint8_t>(i % extensions << 3);
        out[static_cast<size_t>(i)] = static_cast<uint8_t>(
            static_cast<int>(flow_of(one)) | (writes_memory(one) ? WritesMemory : 0) |
            (uses_stack(one) ? UsesStack : 0) | (is_filling(one) ? Filling : 0) | (is_uncommon(one) ? Uncommon : 0));
    }
    return out;
}

constexpr Traits traits[] = {traits_of_map(0), traits_of_map(1)};

uint8_t traits_of(const X86Instruction& one) {
    if (one.is_vector)
        return one.map == 1 && moves_to_memory(one.opcode) ? WritesMemory : 0;
    if (one.map > 1)
        return 0;
    return traits[one.map][size_t{one.opcode} * extensions + static_cast<size_t>(one.extension())];
}

// Whether ModRM may name rsp as the operand that is written. A wrong "yes" does no harm.
bool may_name_rsp(const X86Instruction& one) {
    return one.has_modrm && !one.is_vector && (one.extension() == 4 || (one.modrm >> 6 == 3 && (one.modrm & 7) == 4));
}

bool is_zeros(const X86Instruction& one) {
    return one.opcode == 0 && one.modrm == 0 && one.length == 2 && is_plain(one);
}

// Sets the members of `out`, which is fresh.
void set_memory(const X86Instruction& one, X86Mode mode, bool is_written, MemoryOperand& out) {
    out.exists = true;
    out.base = dwarf_number(one.base);
    out.displacement = one.displacement;
    out.is_fixed = one.is_relative();
    out.is_relative = out.is_fixed && mode == X86Mode::Long;
    out.has_index = one.index >= 0;
    out.may_be_element = one.has_sib;
    out.is_written = is_written;
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
    case 0xc6: // a byte: a register would keep its other bytes
        return in_register ? void() : set(Operation::Constant, -1, -1);
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

// A vector instruction that computes with several numbers. Moves, and logical operations, which compilers use for
// single numbers as well, are not included.
constexpr bool is_packed(const X86Instruction& one) {
    const bool same = one.modrm >> 6 == 3 && (one.modrm >> 3 & 7) == (one.modrm & 7); // makes zeros or ones
    const uint8_t op = one.opcode;
    if (one.map == 2)
        return one.pp == 1 && between(op, 0x37, 0x40);
    if (one.map != 1)
        return false;
    if (between(op, 0x58, 0x5f)) // from addps to maxpd
        return one.pp <= 1 && op != 0x5a && op != 0x5b;
    return one.pp == 1 && !same &&
           (between(op, 0x64, 0x66) || between(op, 0x74, 0x76) || between(op, 0xd4, 0xd5) || between(op, 0xf4, 0xf5) ||
            between(op, 0xf8, 0xfe));
}

// Only copies a register or a constant to a register.
bool is_move(const X86Instruction& one, const Instruction& out) {
    if (out.operation == Operation::Address)
        return out.memory.is_fixed;
    if (one.modrm >> 6 != 3 || !one.has_modrm)
        return out.operation == Operation::Constant && !out.memory.exists;
    const uint8_t op = one.opcode;
    const bool same = reg_field(one) == rm_field(one);
    if (one.map == 1)
        return between(op, 0x10, 0x11) || between(op, 0x28, 0x29) || op == 0x6f || op == 0x7f ||
               (same && (op == 0x57 || op == 0xef));
    return one.map == 0 && !one.is_vector &&
           (op == 0x89 || op == 0x8b || op == 0xc7 || (same && (op == 0x31 || op == 0x33)));
}

// Opcodes whose operation depends on the extension.
constexpr bool is_group(const X86Instruction& one) {
    const uint8_t op = one.opcode;
    if (one.map == 1)
        return between(op, 0x71, 0x73) || op == 0xae || op == 0xba || op == 0xc7;
    return one.map == 0 && (between(op, 0x80, 0x83) || between(op, 0xc0, 0xc1) || between(op, 0xd0, 0xd3) ||
                            between(op, 0xf6, 0xf7) || between(op, 0xfe, 0xff));
}

// `add %rax,%rbx` and `add %rcx,(%rdx)` have the same shape, `add %rax,%rbx` and `sub %rax,%rbx` do not. `pp` is a
// part, because it can select another instruction: 0f 58 is addps, and f2 0f 58 is addsd. The map is increased by 1, so
// that no shape is 0, which means unknown.
constexpr uint32_t shape_of(const X86Instruction& one) {
    return static_cast<uint32_t>(one.map + 1) << 16 | static_cast<uint32_t>(one.opcode) << 8 |
           static_cast<uint32_t>(one.pp) << 4 | (is_group(one) ? static_cast<uint32_t>(one.extension()) : 0);
}

} // namespace

void classify(const X86Instruction& one, X86Mode mode, Instruction& out) {
    const uint8_t facts = traits_of(one);
    out.length = one.length;
    out.flow = static_cast<Flow>(facts & FlowMask);
    if (has_memory(one))
        set_memory(one, mode, facts & WritesMemory, out.memory);
    out.moves_stack = (facts & UsesStack) || may_name_rsp(one);
    out.is_filling = facts & Filling;
    out.is_uncommon = (facts & Uncommon) || is_zeros(one);
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
    out.is_move = is_move(one, out);
    out.is_packed = is_packed(one);
    out.shape = shape_of(one);
}

} // namespace sonde::x86
