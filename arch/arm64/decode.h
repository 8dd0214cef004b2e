// A decoder of arm64 machine code: for each instruction its kind, its fields, and nothing more.
//
// All instructions have 4 bytes, so the decoder is not needed to find where they begin. It tells which words are
// instructions at all, and what the analyses ask about them (classify.h, operands.h). LLVM's disassembler could do
// that too, but it belongs to the layer that generates code. Source: Arm Architecture Reference Manual for A-profile,
// chapter C4.
//
// Unallocated words and instructions that are newer than the table (encodings.def) are not decoded: the kernel's
// behavior is unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sonde::arm64 {

constexpr size_t instruction_size = 4;

// Groups of instructions that have the same fields.
enum class Kind : uint8_t {
    Undefined, // udf, which data consists of: zeros
    Scalable,  // SVE and SME
    // data processing with a constant
    Address,     // adr
    PageAddress, // adrp
    AddConstant,
    AddTag,
    MinMaxConstant,
    LogicalConstant,
    MoveConstant, // movz, movn, movk
    Bitfield,
    Extract,
    AuthenticateByPlace, // autiasppc: its own address counts
    // branches, exceptions and system instructions
    Branch,
    Call,
    ConditionalBranch,
    ConsistentBranch, // bc.cond
    ReturnByPlace,    // retaasppc
    CompareAndBranch, // cbz, cbnz
    TestAndBranch,    // tbz, tbnz
    SystemCall,
    Privileged,
    Breakpoint,
    Halt,
    Transaction,
    Hint,
    Wait, // wfet, wfit
    Barrier,
    StateConstant, // msr of a field of PSTATE; cfinv
    SystemOperation,
    SystemResult,
    WriteSystem, // msr
    ReadSystem,  // mrs
    SystemPair,
    BranchRegister,
    AuthenticatedBranch,
    CallRegister,
    AuthenticatedCall,
    Return,
    AuthenticatedReturn,
    // loads and stores
    Exclusive,
    CompareSwap,
    CompareSwapPair,
    Ordered, // ldar, stlr, ldapr
    OrderedOffset,
    OrderedVector,
    OrderedPair,
    OrderedMoving,
    Atomic,
    AtomicPair,
    CopyMemory,
    ShadowStack,
    Tags,
    Literal,
    Pair,
    Offset, // with a signed offset, also before or after the access
    IndexOffset,
    ScaledOffset,
    AuthenticatedLoad,
    MultipleWords,
    VectorElements,
    // data processing with registers
    Logical,
    Add,
    AddExtended,
    TwoRegisters, // to one from one other
    ThreeRegisters,
    FourRegisters,
    SetFlags,
    ConditionalCompare,
    Authentication, // pacia, autia, xpaci
    // vectors and floating point
    FloatCompare,
    FloatConversion, // also moves between general and vector registers
    ElementToGeneral,
    VectorMove,
    VectorLogical,
    VectorArithmetic,
    Vector,
};

struct Arm64Instruction {
    uint32_t word = 0;
    Kind kind = Kind::Undefined;
    uint8_t row = 0;     // in encodings.def
    uint32_t opcode = 0; // the word without its operands

    // The number that consists of `count` bits from bit `first` on.
    constexpr uint32_t field(unsigned first, unsigned count) const {
        return word >> first & ((uint32_t{1} << count) - 1);
    }
    constexpr int64_t signed_field(unsigned first, unsigned count) const {
        const unsigned unused = 64 - count;
        return static_cast<int64_t>(uint64_t{field(first, count)} << unused) >> unused;
    }
    constexpr bool bit(unsigned number) const { return word >> number & 1; }
    // Registers by their usual places. 31 is the stack pointer or the register with the value 0.
    constexpr int rd() const { return static_cast<int>(field(0, 5)); }
    constexpr int rn() const { return static_cast<int>(field(5, 5)); }
    constexpr int rt2() const { return static_cast<int>(field(10, 5)); }
    constexpr int rm() const { return static_cast<int>(field(16, 5)); }
    constexpr bool is_wide() const { return bit(31); }
};

// Decodes the instruction at the beginning of `code`. Returns nullopt if it is unknown or cut off.
std::optional<Arm64Instruction> decode_arm64(std::string_view code);
// The value of a LogicalConstant's pattern. Returns nullopt if it has none.
std::optional<uint64_t> logical_constant(const Arm64Instruction& one);

} // namespace sonde::arm64
