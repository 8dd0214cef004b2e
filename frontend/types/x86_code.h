// Machine code of x86, one instruction after the other: how long each is and what its opcode is, no more.
//
// A function's return instructions can be found only by walking over all instructions before them. LLVM's disassembler
// could do that, but it belongs to the layer that generates code, needs the tables of a whole target, and a probe point
// wants two bytes of what it says. Intel's manual, volume 2, chapter 2 and appendix A.
//
// Opcodes that were unassigned when this was written (x86_opcodes.def), REX2 and the instructions of APX are not
// decoded: their length is a guess, and so is what the kernel does with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde {

struct X86Instruction {
    size_t length = 0; // bytes, with prefixes and immediates
    int map = 0;       // of opcodes: 0 one byte, 1 0x0f, 2 0x0f38, 3 0x0f3a; AVX instructions: the same and the others
    uint8_t opcode = 0;
    bool has_modrm = false;
    uint8_t modrm = 0;
    int base = -1;            // the register that a memory operand counts from, by its number in the code (4 is rsp)
    int64_t displacement = 0; // of the memory operand
    int64_t immediate = 0;    // sign-extended; also a jump's distance from the next instruction
    bool is_vector = false;   // VEX, EVEX or XOP prefix
    uint8_t pp = 0;           // the prefix that is a part of the opcode: 1 0x66, 2 0xf3, 3 0xf2; of vectors' as well
    // Prefixes of other instructions.
    bool operand16 = false; // 0x66
    uint8_t repeat = 0;     // 0xf2 or 0xf3, the last one
    bool lock = false;
    bool segment = false; // another one than fs and gs
    uint8_t rex = 0;

    bool is_return() const { return !is_vector && map == 0 && (opcode == 0xc3 || opcode == 0xc2); }
    bool is_call() const { return !is_vector && map == 0 && (opcode == 0xe8 || (opcode == 0xff && extension() == 2)); }
    // A jump, conditional or not, to `immediate` bytes after the instruction.
    bool is_direct_jump() const {
        return !is_vector &&
               ((map == 0 && (opcode == 0xe9 || opcode == 0xeb || opcode >> 4 == 7 || opcode >> 2 == 0x38)) ||
                (map == 1 && opcode >> 4 == 8));
    }
    bool is_indirect_jump() const { return !is_vector && map == 0 && opcode == 0xff && extension() == 4; }
    bool is_register_add() const {
        return !is_vector && map == 0 && (opcode == 0x01 || opcode == 0x03) && modrm >> 6 == 3;
    }
    // The memory operand counts from the next instruction, in 64-bit code.
    bool is_relative() const { return has_modrm && (modrm & 0xc7) == 5; }
    // Of an opcode that stands for several instructions: which.
    int extension() const { return modrm >> 3 & 7; }
    // A conditional jump by that condition (0x6 is "below or equal"), near or far.
    bool is_jump_if(uint8_t condition) const {
        return !is_vector && ((map == 0 && opcode == (0x70 | condition)) || (map == 1 && opcode == (0x80 | condition)));
    }
};

// What the processor runs: 64-bit code, or a 32-bit program.
enum class X86Mode : uint8_t { Long, Protected };

// The instruction that `code` begins with; nullopt if there is none that is known, or it is cut off.
std::optional<X86Instruction> decode_x86(std::string_view code, X86Mode mode = X86Mode::Long);

} // namespace sonde
