// One machine instruction, in terms that hold for every processor.
//
// The problem: sonde's analyses of machine code (Where does a function return? Is this address reached by a loop? Has
// the argument been stored yet?) do not depend on a processor, but instructions are encoded differently on each. The
// idea: Architecture::decode() reads the encoding once, and the analyses see only this structure. For example,
// `cmp 0x10(%r14),%rsp` of x86-64 is
//
//     flow Next, operation Compare, to 7, memory {base 14, displacement 16}
//
// Registers are numbered as in DWARF. Only operations that an analysis needs have a name; all others are
// Operation::Other. An architecture that cannot name an operation may always return Other: the analyses then know less,
// and refuse a place or an optimization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "arch/registers.h"

namespace sonde {

// Where execution continues after an instruction.
enum class Flow : uint8_t {
    Next,            // at the next instruction
    Jump,            // at the target
    ConditionalJump, // at the target or at the next instruction; `condition` decides
    CountingJump,    // the same, if something else decides (x86-64: loop, jrcxz)
    IndirectJump,    // at an address in a register or in memory
    FarJump,         // in another code segment (x86-64)
    Call,            // at the target, and at the next instruction when the function returns
    IndirectCall,    // the same, for an address in a register or in memory
    Return,          // at the caller
    Stop,            // nowhere: a trap, or an instruction that programs may not execute
};

enum class Operation : uint8_t {
    Other,
    Nothing,      // a nop, or a mark for the target of indirect jumps (endbr64)
    Address,      // writes the address of the memory operand to `to`
    Load,         // writes the memory operand, or the register `from`, to `to`
    Constant,     // writes `immediate` to `to`, or to the memory operand if `to` is -1
    Add,          // adds the memory operand or the register `from` to `to`
    Compare,      // compares `to` with the memory operand or the register `from`
    WithConstant, // computes something with `immediate`, or compares with it
    Push,         // pushes the register `from` or, if it is -1, a constant
};

// The operand in memory, or the operand of Operation::Address.
struct MemoryOperand {
    bool exists = false;
    int base = -1; // the base register; -1: none
    int64_t displacement = 0;
    bool is_fixed = false;    // a single place: neither a base nor an index
    bool is_relative = false; // `displacement` counts from the next instruction or, if `page` is set, ...
    uint64_t page = 0;        // ... from the beginning of the page of this size with the instruction
    bool has_index = false;
    // May be an element of a table: the encoding has room for an index. If the base is the stack pointer, x86-64 uses
    // that encoding without an index, too.
    bool may_be_element = false;
    bool is_written = false;  // rare instructions are missing
    uint8_t element_size = 0; // of a possible element, in bytes; 0: unknown, or no load

    // The address of a fixed operand. `next` is the address of the next instruction.
    uint64_t address(uint64_t next) const {
        const uint64_t origin = page ? (next - 1) & ~(page - 1) : next;
        return (is_relative ? origin : 0) + static_cast<uint64_t>(displacement);
    }
    // Whether the address is an element of a table whose address is `displacement`.
    bool is_element_of_constant_table() const { return may_be_element && base < 0; }
};

struct Instruction {
    size_t length = 0; // in bytes
    Flow flow = Flow::Next;
    Operation operation = Operation::Other;
    JumpCondition condition = 0; // of a conditional jump
    bool moves_stack = false;    // may change the stack pointer
    bool is_filling = false;     // compilers put it between functions, and after calls that do not return
    bool is_uncommon = false;    // programs do not contain it, but data that looks like code does
    bool is_move = false;        // only copies a register or a constant (also a constant address) to a register
    bool is_packed = false;      // computes with several numbers in one vector register
    // A number that is the same for all instructions that compute the same from other operands. 0: unknown.
    uint32_t shape = 0;
    int to = -1, from = -1; // registers of the operation; of an indirect jump, `from` has the target (-1: in memory)
    int64_t distance = 0;   // of a direct jump or call: from the next instruction to the target
    int64_t immediate = 0;  // of an operation with a constant
    MemoryOperand memory;

    // Returns the target of a direct jump or call. `next` is the address of the next instruction.
    uint64_t target(uint64_t next) const { return next + static_cast<uint64_t>(distance); }

    bool is_return() const { return flow == Flow::Return; }
    bool is_call() const { return flow == Flow::Call || flow == Flow::IndirectCall; }
    bool is_indirect_jump() const { return flow == Flow::IndirectJump; }
    // A jump to a constant target, conditional or not.
    bool is_direct_jump() const { return flow >= Flow::Jump && flow <= Flow::CountingJump; }
    // A jump, call or return.
    bool transfers() const { return flow != Flow::Next && flow != Flow::Stop && flow != Flow::FarJump; }
    // Whether control never reaches the next instruction.
    bool ends_flow() const {
        return flow == Flow::Jump || flow == Flow::IndirectJump || flow == Flow::FarJump || flow == Flow::Return ||
               flow == Flow::Stop;
    }
};

// Changes of the registers and of the frame by an instruction, for analyses that follow values.
struct Effect {
    enum Kind : uint8_t {
        None,      // changes flags at most
        Push,      // stores the register `from` (-1: a constant) in a new word at the end of the stack
        Pop,       // reads `to` from there
        Store,     // stores `size` bytes of the register `from` (-1: a constant) in the memory operand
        StorePair, // the same, and stores as many bytes of the register `second` (-1: a constant) behind these
        Copy,      // copies the register `from`, plus the constant `added`, to `to`
        MoveStack, // adds `distance` to the stack pointer
        Sign,      // adds a signature to the return address in the link register, or removes it
        Leave,     // copies the frame pointer to the stack pointer, then pops the frame pointer
        Change,    // anything else: see `changes`
    };
    Kind kind = Change;
    int from = -1, to = -1, second = -1;
    bool from_vector = false; // `from` and `second` are numbers of vector registers
    bool whole = false;       // Copy: all bits
    uint64_t size = 0;
    int64_t added = 0;
    std::optional<int64_t> distance = std::nullopt; // empty: unknown
    int64_t then_moves_stack = 0;                   // added to the stack pointer after everything else
    // Registers that change, also by another kind: sets with a bit for each number. In doubt, a register that the
    // instruction names is changed.
    uint32_t changes = 0;
    uint32_t changes_vectors = 0;
    uint32_t may_change = 0; // general registers that the instruction perhaps names; never those of the frame
};

// How an instruction uses the register in which functions return integers.
enum class ResultUse : uint8_t {
    None,
    Read,
    Write, // overwrites it without reading it
    End,   // leaves the code, or passes control to a function
};

// Most instructions are decoded for their flow only, so the other facts are not members of Instruction.
struct AnalyzedInstruction {
    Instruction instruction;
    Effect effect;
    ResultUse result_use = ResultUse::None;
};

// Bytes that may be a direct jump or call, or a part of another instruction.
struct PossibleBranch {
    size_t operand = 0; // where the bytes of the distance begin
    size_t end = 0;     // behind the instruction
    int64_t distance = 0;
    bool is_call = false;
};

} // namespace sonde
