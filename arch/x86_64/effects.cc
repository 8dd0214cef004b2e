// What instructions do to registers and to the frame.
//
// Prologues consist of a few kinds of instructions, which this recognizes exactly: pushes, stores, copies, and changes
// of rsp. For anything else it errs in one direction: a register that the instruction only names counts as changed. For
// example, `test %rdi,%rdi` is recognized as a comparison, but `bt %rdi,%rsi` "changes" both. The analysis then
// believes that an argument is lost, and refuses to read it there.
#include "arch/x86_64/classify.h"
#include "arch/x86_64/operands.h"

namespace sonde::x86 {
namespace {

// Whether the register field of ModRM is part of the opcode.
bool names_operation(const X86Instruction& one) {
    const uint8_t op = one.opcode;
    if (one.map == 0)
        return (op >= 0x80 && op <= 0x83) || op == 0x8f || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
               (op >= 0xd0 && op <= 0xd3) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
    return one.map == 1 && (op <= 0x01 || op == 0x0d || (op >= 0x18 && op <= 0x1f) || (op >= 0x71 && op <= 0x73) ||
                            (op >= 0x90 && op <= 0x9f) || op == 0xae || op == 0xba || op == 0xc7);
}

bool compares(const X86Instruction& one) {
    const uint8_t op = one.opcode;
    if (one.is_vector)
        return false;
    if (one.map != 0)
        return one.map == 1 && (op == 0x1e || op == 0x1f || op == 0x2e || op == 0x2f || op == 0x18 ||
                                op == 0x0d); // nop, comiss, prefetch
    return (op >= 0x38 && op <= 0x3d) || op == 0x84 || op == 0x85 || op == 0x90 ||
           ((op == 0x80 || op == 0x81 || op == 0x83) && one.extension() == 7);
}

Effect store(int from, uint64_t size, bool from_vector) {
    return {.kind = Effect::Store, .from = from, .from_vector = from_vector, .size = size};
}

// If the instruction moves a register or a constant to memory, returns the details.
std::optional<Effect> store_of(const X86Instruction& one) {
    if (!has_memory(one) || one.is_vector)
        return std::nullopt;
    const bool has_66 = one.operand16, has_f3 = one.repeat == 0xf3, has_f2 = one.repeat == 0xf2;
    const int number = reg_field(one);
    if (one.map == 0) {
        switch (one.opcode) {
        case 0x88:
            return store(dwarf_number(number), 1, false);
        case 0x89:
            return store(dwarf_number(number), operand_size(one), false);
        case 0xc6:
            return store(-1, 1, false);
        case 0xc7:
            return store(-1, operand_size(one), false);
        default:
            return std::nullopt;
        }
    }
    auto if_true = [&](bool does, uint64_t size) {
        return does ? std::optional(store(number, size, true)) : std::nullopt;
    };
    if (one.map != 1)
        return std::nullopt;
    switch (one.opcode) {
    case 0x11: // movss, movsd, movups, movupd
        return store(number, has_f3 ? 4 : has_f2 ? 8 : 16, true);
    case 0x29: // movaps, movapd
        return store(number, 16, true);
    case 0x7f: // movdqa, movdqu
        return if_true(has_66 || has_f3, 16);
    case 0x7e: // movd, movq
        return if_true(has_66 && !has_f3, is_wide(one) ? 8 : 4);
    case 0xd6: // movq
        return if_true(has_66, 8);
    case 0x13: // movlps, movlpd
        return store(number, 8, true);
    default:
        return std::nullopt;
    }
}

// If the instruction moves a general register to another, possibly with an extension, returns the details.
std::optional<Effect> copy_of(const X86Instruction& one, X86Mode mode) {
    if (has_memory(one) || !one.has_modrm || one.is_vector)
        return std::nullopt;
    const int reg = dwarf_number(reg_field(one)), rm = dwarf_number(rm_field(one));
    const uint8_t op = one.opcode;
    const bool extends = op == 0x63; // movslq
    const bool whole = one.map == 0 && !extends && operand_size(one) == (mode == X86Mode::Long ? 8 : 4);
    auto copy = [&](int from, int to) { return Effect{.kind = Effect::Copy, .from = from, .to = to, .whole = whole}; };
    if (one.map == 0 && op == 0x89)
        return copy(reg, rm);
    if ((one.map == 0 && (op == 0x8b || (extends && mode == X86Mode::Long))) ||
        (one.map == 1 && (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf)))
        return copy(rm, reg);
    return std::nullopt;
}

// `add $n,%rsp`, `sub $n,%rsp` and `lea n(%rsp),%rsp`.
std::optional<Effect> stack_movement(const X86Instruction& one) {
    if (!is_plain(one))
        return std::nullopt;
    constexpr int encoded_rsp = 4;
    if ((one.opcode == 0x83 || one.opcode == 0x81) && !has_memory(one) && rm_field(one) == encoded_rsp) {
        std::optional<int64_t> distance;
        if (one.extension() == 0)
            distance = one.immediate;
        else if (one.extension() == 5)
            distance = -one.immediate;
        return Effect{.kind = Effect::MoveStack, .distance = distance};
    }
    if (one.opcode == 0x8d && reg_field(one) == encoded_rsp && one.base == encoded_rsp && one.index < 0)
        return Effect{.kind = Effect::MoveStack, .distance = one.displacement};
    return std::nullopt;
}

// Any other instruction: assumes that it changes all registers that it names, and those that it changes implicitly.
// `imul %rsi,%rax` therefore counts as a change of both, but not `add %rsi,%rax`, whose form shows the target. An
// instruction without ModRM names no register, so it changes everything, except for `mov $5,%eax`. But few of them
// change rbp: xchg with rax, and instructions for frames.
Effect change_of(const X86Instruction& one) {
    Effect out;
    if (!one.has_modrm || one.is_vector) {
        // `mov $imm, %reg` changes only this register.
        if (is_plain(one) && one.opcode >> 3 == 0xb8 >> 3)
            out.changes = 1U << dwarf_number(opcode_field(one));
        else
            out.changes = out.changes_vectors = ~0U;
        const bool exchanges = one.opcode >> 3 == 0x90 >> 3, pops_all = one.opcode == 0x61, enters = one.opcode == 0xc8;
        if (is_plain(one) && out.changes == ~0U && !exchanges && !pops_all && !enters)
            out.changes &= ~(1U << rbp);
        return out;
    }
    // Vector instructions name vector registers. A few also name general purpose registers, but compilers never use
    // these for the stack.
    auto change = [&](int number) {
        const bool general =
            one.map == 0 || (one.map == 1 && !names_vector(one, Field::Reg) && !names_vector(one, Field::Rm));
        if (general) {
            out.changes |= 1U << dwarf_number(number);
        } else {
            out.changes_vectors |= 1U << number;
            out.may_change |= 1U << dwarf_number(number);
        }
    };
    // mul, imul, div and idiv write to rax and rdx without naming them.
    if (one.map == 0 && (one.opcode == 0xf6 || one.opcode == 0xf7))
        out.changes = 1U << rax | 1U << rdx;
    // add, or, adc, sbb, and, sub and xor: a bit of the opcode selects which operand is the target.
    const bool is_arithmetic = one.map == 0 && one.opcode < 0x40 && (one.opcode & 7) < 4, to_reg = one.opcode & 2;
    if (!names_operation(one) && (!is_arithmetic || to_reg))
        change(reg_field(one));
    if (!has_memory(one) && (!is_arithmetic || !to_reg))
        change(rm_field(one));
    return out;
}

} // namespace

Effect effect_of(const X86Instruction& one, X86Mode mode) {
    // Comparisons change flags only.
    if (compares(one))
        return {.kind = Effect::None};
    if (is_plain(one) && one.opcode >> 3 == 0x50 >> 3)
        return {.kind = Effect::Push, .from = dwarf_number(opcode_field(one))};
    if (is_plain(one) && one.opcode >> 3 == 0x58 >> 3)
        return {.kind = Effect::Pop, .to = dwarf_number(opcode_field(one))};
    if (is_plain(one) && (one.opcode == 0x68 || one.opcode == 0x6a))
        return {.kind = Effect::Push};
    if (is_plain(one) && one.opcode == 0xc9)
        return {.kind = Effect::Leave};
    if (std::optional<Effect> found = store_of(one))
        return *found;
    if (std::optional<Effect> found = copy_of(one, mode))
        return *found;
    if (std::optional<Effect> found = stack_movement(one))
        return *found;
    return change_of(one);
}

} // namespace sonde::x86
