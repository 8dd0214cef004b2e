// Three differences from other processors matter here:
//
// * `cbz` and `tbz` jump by a register instead of the flags. Both are conditional jumps.
// * No instruction names an address of 64 bits. `adrp` gives the page, and an addition or the displacement of a load
//   gives the rest. Therefore, an addition of a constant is Operation::Address.
// * Calls and returns do not use the stack, so they do not change the stack pointer.
#include "arch/arm64/classify.h"

#include "arch/arm64/operands.h"
#include "arch/arm64/registers.h"

namespace sonde::arm64 {
namespace {

constexpr int zero = 31; // the register with the value 0, where the number does not mean the stack pointer
constexpr int64_t size = instruction_size;

constexpr int general(int number) { return number == zero ? -1 : number; }

// The fields of direct jumps and calls.
void set_branch(const Arm64Instruction& one, Flow flow, unsigned first, unsigned count, Instruction& out) {
    out.flow = flow;
    out.distance = one.signed_field(first, count) * size - size; // from the next instruction
}

// Jumps that depend on the register with the value 0 are always taken or never.
void set_register_branch(const Arm64Instruction& one, unsigned first, unsigned count, Instruction& out) {
    constexpr unsigned opposite = 24;
    if (one.rd() == zero) {
        out.flow = one.bit(opposite) ? Flow::Next : Flow::Jump;
        return;
    }
    out.condition = static_cast<JumpCondition>(if_zero(one.rd(), first, count) ^ (one.bit(opposite) ? 1 : 0));
}

void set_flow(const Arm64Instruction& one, Instruction& out) {
    switch (one.kind) {
    case Kind::Branch:
        return set_branch(one, Flow::Jump, 0, 26, out);
    case Kind::Call:
        return set_branch(one, Flow::Call, 0, 26, out);
    case Kind::ConditionalBranch:
    case Kind::ConsistentBranch: {
        const uint32_t condition = one.field(0, 4);
        constexpr uint32_t always = 14; // and 15
        set_branch(one, condition >= always ? Flow::Jump : Flow::ConditionalJump, 5, 19, out);
        out.condition = out.flow == Flow::Jump ? 0 : static_cast<JumpCondition>(condition);
        return;
    }
    case Kind::CompareAndBranch:
        set_branch(one, Flow::ConditionalJump, 5, 19, out);
        return set_register_branch(one, 0, one.is_wide() ? 64 : 32, out);
    case Kind::TestAndBranch:
        set_branch(one, Flow::ConditionalJump, 5, 14, out);
        return set_register_branch(one, one.field(31, 1) << 5 | one.field(19, 5), 1, out);
    case Kind::BranchRegister:
    case Kind::AuthenticatedBranch:
        out.flow = Flow::IndirectJump;
        out.from = general(one.rn());
        return;
    case Kind::CallRegister:
    case Kind::AuthenticatedCall:
        out.flow = Flow::IndirectCall;
        out.from = general(one.rn());
        return;
    case Kind::Return:
    case Kind::AuthenticatedReturn:
    case Kind::ReturnByPlace:
        // `ret` through another register is the end of an outlined piece of code, which only the code itself explains.
        out.flow = one.kind == Kind::Return && one.rn() != lr ? Flow::IndirectJump : Flow::Return;
        out.from = out.flow == Flow::IndirectJump ? general(one.rn()) : -1;
        return;
    case Kind::Undefined:
    case Kind::Breakpoint:
    case Kind::Halt:
    case Kind::Privileged:
        out.flow = Flow::Stop;
        return;
    default:
        return;
    }
}

// The memory operand of loads and stores.
void set_memory(const Arm64Instruction& one, const Access& access, Instruction& out) {
    out.memory.exists = true;
    out.memory.is_written = access.is_store;
    if (access.base < 0) {
        out.memory.is_fixed = out.memory.is_relative = true;
        out.memory.displacement = access.displacement - size;
        return;
    }
    out.memory.base = access.base;
    out.memory.displacement = access.displacement;
    out.memory.has_index = out.memory.may_be_element = one.kind == Kind::IndexOffset;
    if (out.memory.has_index && access.is_load && !access.is_vector)
        out.memory.element_size = static_cast<uint8_t>(access.size);
    out.moves_stack = access.moves_base && access.base == sp;
}

void set_address(int to, int base, int64_t displacement, Instruction& out) {
    out.operation = Operation::Address;
    out.to = to;
    out.memory = {.exists = true, .base = base, .displacement = displacement};
}

void set_relative_address(const Arm64Instruction& one, Instruction& out) {
    const auto constant = static_cast<int64_t>(static_cast<uint64_t>(one.signed_field(5, 19)) << 2 | one.field(29, 2));
    constexpr unsigned page_bits = 12;
    set_address(general(one.rd()), -1, constant - size, out);
    out.memory.is_fixed = out.memory.is_relative = true;
    if (one.kind == Kind::PageAddress) {
        out.memory.page = uint64_t{1} << page_bits;
        out.memory.displacement = static_cast<int64_t>(static_cast<uint64_t>(constant) << page_bits);
    }
}

void set_compare(const Arm64Instruction& one, int left, Instruction& out) {
    out.operation = Operation::Compare;
    out.to = left;
    out.from = general(one.rm());
}

// Additions and comparisons. Those that set the flags compare if they have no result.
void set_addition(const Arm64Instruction& one, Instruction& out) {
    constexpr unsigned sets_flags = 29, subtracts = 30;
    const int to = general(one.rd());
    switch (one.kind) {
    case Kind::AddConstant:
        out.immediate = added_constant(one);
        if (one.bit(sets_flags)) { // a subtraction compares with the number itself
            out.immediate = one.bit(subtracts) ? -out.immediate : out.immediate;
            out.operation = Operation::WithConstant;
            out.to = to < 0 ? one.rn() : to;
        } else {
            set_address(one.rd(), one.rn(), out.immediate, out);
        }
        return;
    case Kind::Add:
    case Kind::AddExtended: {
        const int left = one.kind == Kind::Add ? general(one.rn()) : one.rn();
        if (one.bit(sets_flags) && one.bit(subtracts) && to < 0)
            return set_compare(one, left, out);
        if (!one.bit(subtracts)) {
            out.operation = Operation::Add;
            out.to = one.kind == Kind::Add || one.bit(sets_flags) ? to : one.rd();
            out.from = general(one.rm());
        }
        return;
    }
    default:
        return;
    }
}

// `orr` with the register 0 is how moves are encoded.
bool is_register_move(const Arm64Instruction& one) {
    constexpr uint32_t orr = 1;
    return one.kind == Kind::Logical && one.field(29, 2) == orr && one.rn() == zero && !one.bit(21) &&
           one.field(10, 6) == 0 && one.field(22, 2) == 0;
}

void set_constant(int to, uint64_t value, bool is_wide, Instruction& out) {
    out.operation = Operation::Constant;
    out.to = to;
    out.immediate = static_cast<int64_t>(is_wide ? value : value & 0xffffffff);
}

void set_move_of_constant(const Arm64Instruction& one, Instruction& out) {
    const uint64_t value = uint64_t{one.field(5, 16)} << 16 * one.field(21, 2);
    constexpr uint32_t inverted = 0, keeps = 3;
    out.immediate = static_cast<int64_t>(value);
    if (one.field(29, 2) != keeps)
        set_constant(general(one.rd()), one.field(29, 2) == inverted ? ~value : value, one.is_wide(), out);
}

void set_operation(const Arm64Instruction& one, Instruction& out) {
    switch (one.kind) {
    case Kind::Address:
    case Kind::PageAddress:
        return set_relative_address(one, out);
    case Kind::AddConstant:
    case Kind::Add:
    case Kind::AddExtended:
        return set_addition(one, out);
    case Kind::LogicalConstant: {
        const uint64_t value = logical_constant(one).value_or(0);
        constexpr uint32_t orr = 1;
        out.immediate = static_cast<int64_t>(value);
        if (one.field(29, 2) == orr && one.rn() == zero)
            return set_constant(one.rd(), value, one.is_wide(), out);
        out.operation = Operation::WithConstant;
        out.to = general(one.rd());
        return;
    }
    case Kind::MoveConstant:
        return set_move_of_constant(one, out);
    case Kind::Bitfield:
        out.immediate = one.field(10, 12);
        return;
    case Kind::Logical:
        if (!is_register_move(one))
            return;
        if (one.rm() == zero)
            return set_constant(general(one.rd()), 0, one.is_wide(), out);
        out.operation = Operation::Load;
        out.to = general(one.rd());
        out.from = one.rm();
        return;
    case Kind::Hint: {
        const uint32_t number = one.field(5, 7);
        constexpr uint32_t nop = 0, bti = 32; // of any kind
        if (number == nop || (number & ~uint32_t{6}) == bti)
            out.operation = Operation::Nothing;
        return;
    }
    default:
        return;
    }
}

// Loads and stores of one general register.
void set_transfer(const Access& access, Instruction& out) {
    if (access.is_vector || access.second >= 0 || (access.is_load && access.is_store) || access.first < 0)
        return;
    if (access.is_load) {
        out.operation = Operation::Load;
        out.to = general(access.first);
    } else if (access.first == zero) {
        out.operation = Operation::Constant;
    }
}

// Whether the instruction may write the stack pointer other than by moving the base of an access.
bool writes_stack_pointer(const Arm64Instruction& one) {
    constexpr unsigned sets_flags = 29;
    switch (one.kind) {
    case Kind::AddConstant:
    case Kind::AddExtended:
        return one.rd() == sp && !one.bit(sets_flags);
    case Kind::LogicalConstant:
        return one.rd() == sp && one.field(29, 2) != 3;
    case Kind::AddTag:
        return one.rd() == sp;
    case Kind::ThreeRegisters: // irg and addpt
        return one.rd() == sp && one.is_wide() &&
               ((one.word & 0x7fe0fc00) == 0x1ac01000 || (one.word & 0x1fe0e000) == 0x1a002000);
    case Kind::Tags:
        return one.rn() == sp && one.bit(10);
    case Kind::Scalable: // addvl and addpl
        return one.rd() == sp && (one.word & 0xff20f000) == 0x04205000;
    default:
        return false;
    }
}

// Nops, and instructions that trap.
bool is_filling(const Arm64Instruction& one, const Instruction& out) {
    constexpr uint32_t nop = 0xd503201f;
    return one.word == nop || one.kind == Kind::Undefined || (one.kind == Kind::Breakpoint && out.flow == Flow::Stop);
}

// System registers that programs can use have `op1` 3; of the others, the kernel lets programs read the description of
// the processor (`op1` 0, CRn 0).
bool is_uncommon(const Arm64Instruction& one) {
    constexpr uint32_t of_programs = 3;
    switch (one.kind) {
    case Kind::Undefined:
    case Kind::Privileged:
    case Kind::Halt:
    case Kind::Transaction:
    case Kind::SystemPair:
        return true;
    case Kind::WriteSystem:
    case Kind::SystemResult:
    case Kind::SystemOperation:
        return one.field(16, 3) != of_programs;
    case Kind::ReadSystem:
        return one.field(16, 3) != of_programs && one.field(12, 7) != 0;
    default:
        return false;
    }
}

bool is_move(const Arm64Instruction& one, const Instruction& out) {
    switch (one.kind) {
    case Kind::Address:
    case Kind::PageAddress:
    case Kind::MoveConstant:
    case Kind::VectorMove:
        return true;
    case Kind::AddConstant: // to or from the stack pointer
        return out.operation == Operation::Address && out.memory.displacement == 0;
    case Kind::LogicalConstant:
        return out.operation == Operation::Constant;
    case Kind::Logical:
        return is_register_move(one);
    case Kind::VectorLogical: { // `orr` of a register with itself
        constexpr uint32_t orr = 0x0ea01c00, mask = 0xbfe0fc00;
        return (one.word & mask) == orr && one.rn() == one.rm();
    }
    default:
        return false;
    }
}

} // namespace

void classify(const Arm64Instruction& one, Instruction& out) {
    out.length = instruction_size;
    set_flow(one, out);
    set_operation(one, out);
    if (const std::optional<Access> access = access_of(one)) {
        set_memory(one, *access, out);
        set_transfer(*access, out);
    }
    out.moves_stack = out.moves_stack || writes_stack_pointer(one);
    out.is_filling = is_filling(one, out);
    out.is_uncommon = is_uncommon(one);
    out.is_move = is_move(one, out);
    out.is_packed = one.kind == Kind::VectorArithmetic;
    // The row tells instructions apart whose other bits are equal, and 1 makes the number differ from "unknown".
    out.shape = one.opcode ^ static_cast<uint32_t>(one.row + 1) * 0x01000193U;
}

} // namespace sonde::arm64
