// A length decoder for x86 machine code: for each instruction its length, its opcode and a few operands, and nothing
// more.
//
// To find a function's return instructions, one must decode all instructions before them, because their lengths vary.
// LLVM's disassembler can do that. But it belongs to the layer that generates code, and it loads the tables of a whole
// target, while a probe point needs two bytes of its output. Source: Intel SDM, volume 2, chapter 2 and appendix A.
//
// Opcodes that were unassigned when this was written (opcodes.def), REX2 and the APX instructions are not decoded.
// Their length would be a guess, and the kernel's behavior is unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde {

// A decoded instruction. Fields that the instruction does not have are 0.
struct X86Instruction {
    size_t length = 0; // in bytes, with prefixes and immediates
    int map = 0;       // opcode map: 0 one byte, 1 0x0f, 2 0x0f38, 3 0x0f3a; vector instructions also use others
    uint8_t opcode = 0;
    bool has_modrm = false;
    uint8_t modrm = 0;
    int base = -1;            // the base register of the memory operand, by its number in the encoding (4 is rsp)
    int index = -1;           // the index register, likewise
    bool has_sib = false;     // the memory operand has a byte for an index, which may be unused
    int64_t displacement = 0; // of the memory operand
    int64_t immediate = 0;    // extended by sign; for a jump, the distance from the next instruction
    bool is_vector = false;   // VEX, EVEX or XOP prefix
    uint8_t pp = 0;           // the prefix that is part of the opcode, also in vector prefixes: 1 0x66, 2 0xf3, 3 0xf2
    // Prefixes of instructions without a vector prefix.
    bool operand16 = false; // 0x66
    uint8_t repeat = 0;     // 0xf2 or 0xf3; the last one counts
    bool lock = false;
    bool segment = false; // a segment other than fs and gs
    uint8_t rex = 0;

    // `ret`, with or without a number of bytes to pop.
    constexpr bool is_return() const { return !is_vector && map == 0 && (opcode == 0xc3 || opcode == 0xc2); }
    // `call`, direct or indirect (near only).
    constexpr bool is_call() const {
        return !is_vector && map == 0 && (opcode == 0xe8 || (opcode == 0xff && extension() == 2));
    }
    // A direct jump, conditional or not; its target is `immediate` bytes after the instruction.
    bool is_direct_jump() const {
        return !is_vector &&
               ((map == 0 && (opcode == 0xe9 || opcode == 0xeb || opcode >> 4 == 7 || opcode >> 2 == 0x38)) ||
                (map == 1 && opcode >> 4 == 8));
    }
    // `jmp` through a register or memory.
    bool is_indirect_jump() const { return !is_vector && map == 0 && opcode == 0xff && extension() == 4; }
    // `add` of two registers, as code of switches uses to compute a target.
    bool is_register_add() const {
        return !is_vector && map == 0 && (opcode == 0x01 || opcode == 0x03) && modrm >> 6 == 3;
    }
    // The memory operand is relative to the next instruction (in 64-bit code).
    bool is_relative() const { return has_modrm && (modrm & 0xc7) == 5; }
    // For an opcode that several instructions share: the number of the instruction.
    constexpr int extension() const { return modrm >> 3 & 7; }
    // A near or short conditional jump with that condition (0x6 is "below or equal").
    bool is_jump_if(uint8_t condition) const {
        return !is_vector && ((map == 0 && opcode == (0x70 | condition)) || (map == 1 && opcode == (0x80 | condition)));
    }
};

// The processor's mode: 64-bit code, or a 32-bit program.
enum class X86Mode : uint8_t { Long, Protected };

// Decodes the instruction at the beginning of `code`. Returns nullopt if it is unknown or cut off.
std::optional<X86Instruction> decode_x86(std::string_view code, X86Mode mode = X86Mode::Long);

} // namespace sonde
