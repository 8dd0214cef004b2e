// The operands of x86-64 instructions: which registers the fields of an encoding name.
#pragma once

#include <cstdint>

#include "arch/x86_64/decode.h"

namespace sonde::x86 {

// Registers by their DWARF numbers (System V psABI, figure 3.36).
constexpr int rax = 0, rdx = 1, rcx = 2, rbx = 3, rsi = 4, rdi = 5, rbp = 6, rsp = 7, r8 = 8, r9 = 9, r10 = 10,
              r11 = 11, r12 = 12, r13 = 13, r14 = 14, r15 = 15, rip = 16;

// Converts a register number in an encoding to its DWARF number. -1 stays.
constexpr int dwarf_number(int number) {
    constexpr int names[] = {rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi};
    return number >= 0 && number < 8 ? names[number] : number;
}

// The numbers of registers in the fields of an encoding.
inline int reg_field(const X86Instruction& one) { return one.extension() | (one.rex & 4) << 1; }
inline int rm_field(const X86Instruction& one) { return (one.modrm & 7) | (one.rex & 1) << 3; }
inline int opcode_field(const X86Instruction& one) { return (one.opcode & 7) | (one.rex & 1) << 3; }

inline bool has_memory(const X86Instruction& one) { return one.has_modrm && one.modrm >> 6 != 3; }
// An instruction without a vector prefix and with an opcode of one byte.
inline bool is_plain(const X86Instruction& one) { return one.map == 0 && !one.is_vector; }
inline bool is_wide(const X86Instruction& one) { return one.rex & 8; }
// The size of a general operand.
inline uint64_t operand_size(const X86Instruction& one) { return is_wide(one) ? 8 : one.operand16 ? 2 : 4; }

// A field of ModRM that names a register.
enum class Field : uint8_t { Reg, Rm };

// Whether a field of an instruction with an opcode after 0f names a vector register, not a general one (SSE; Intel SDM,
// volume 2, appendix A). A few instructions have a general register in one of the fields: for conversions and moves
// between the two kinds of registers.
bool names_vector(const X86Instruction& one, Field field);

} // namespace sonde::x86
