#include "arch/arm64/operands.h"

namespace sonde::arm64 {
namespace {

constexpr int zero = 31; // the register with the value 0, where the number does not mean the stack pointer

constexpr uint32_t general(int number) { return number == zero ? 0 : uint32_t{1} << number; }
constexpr uint32_t general_or_stack(int number) { return uint32_t{1} << number; }

bool is_prefetch(const Arm64Instruction& one) { return !one.bit(26) && one.field(30, 2) == 3 && one.field(22, 2) == 2; }

// Fills in what the fields `size` (bits 30 and 31), V (26) and `opc` (22 and 23) say.
void set_transfer(const Arm64Instruction& one, Access& out) {
    const uint32_t size = one.field(30, 2), opcode = one.field(22, 2);
    out.is_vector = one.bit(26);
    out.size = out.is_vector && opcode >= 2 ? 16 : uint64_t{1} << size;
    out.is_load = out.is_vector ? opcode & 1 : opcode != 0;
    out.is_store = !out.is_load;
    out.first = one.rd();
    out.base = one.rn();
    if (is_prefetch(one)) {
        out.first = -1;
        out.is_load = false;
    }
}

// Sets the displacement, and how the base moves. Modes 1 and 3 move it by the offset, behind the access or before.
void set_movement(Access& out, uint32_t mode, int64_t offset) {
    constexpr uint32_t behind = 1, before = 3;
    out.moves_base = mode == behind || mode == before;
    out.movement = out.moves_base ? offset : 0;
    out.displacement = mode == behind ? 0 : offset;
}

Access access_of_pair(const Arm64Instruction& one) {
    const uint32_t opcode = one.field(30, 2), mode = one.field(23, 2);
    Access out;
    out.is_vector = one.bit(26);
    out.is_load = one.bit(22);
    out.is_store = !out.is_load;
    out.first = one.rd();
    out.second = one.rt2();
    out.base = one.rn();
    const bool stores_tags = !out.is_vector && opcode == 1 && out.is_store; // stgp
    out.size = out.is_vector ? uint64_t{4} << opcode : opcode == 2 || stores_tags ? 8 : 4;
    const int64_t offset = one.signed_field(15, 7) * (stores_tags ? 16 : static_cast<int64_t>(out.size));
    set_movement(out, mode, offset);
    return out;
}

Access access_of_offset(const Arm64Instruction& one) {
    Access out;
    set_transfer(one, out);
    const uint32_t mode = one.field(10, 2);
    const int64_t offset = one.signed_field(12, 9);
    set_movement(out, mode, offset);
    return out;
}

// The fields that instructions with a bare address have in common.
Access access_of_base(const Arm64Instruction& one) {
    Access out;
    out.base = one.rn();
    out.first = one.rd();
    out.size = uint64_t{1} << one.field(30, 2);
    out.is_load = one.bit(22);
    out.is_store = !out.is_load;
    return out;
}

} // namespace

std::optional<Access> access_of(const Arm64Instruction& one) {
    Access out;
    switch (one.kind) {
    case Kind::Pair:
        return access_of_pair(one);
    case Kind::Offset:
        return access_of_offset(one);
    case Kind::ScaledOffset:
        set_transfer(one, out);
        out.displacement = static_cast<int64_t>(one.field(10, 12) * out.size);
        return out;
    case Kind::IndexOffset:
        set_transfer(one, out);
        out.index = one.rm();
        return out;
    case Kind::Literal: {
        constexpr uint32_t prefetch = 3;
        const uint32_t opcode = one.field(30, 2);
        out.displacement = one.signed_field(5, 19) * 4;
        out.is_vector = one.bit(26);
        out.is_load = opcode != prefetch;
        out.first = out.is_load ? one.rd() : -1;
        out.size = out.is_vector ? uint64_t{4} << opcode : opcode == 1 ? 8 : 4;
        return out;
    }
    case Kind::AuthenticatedLoad:
        out = access_of_base(one);
        out.is_load = true;
        out.is_store = false;
        out.displacement = static_cast<int64_t>((one.bit(22) ? ~uint64_t{511} : 0) | one.field(12, 9)) * 8;
        out.moves_base = one.bit(11);
        out.movement = out.moves_base ? out.displacement : 0;
        return out;
    case Kind::OrderedOffset:
        out = access_of_base(one);
        out.is_load = one.field(22, 2) != 0;
        out.is_store = !out.is_load;
        out.displacement = one.signed_field(12, 9);
        return out;
    case Kind::OrderedVector:
        set_transfer(one, out);
        out.displacement = one.signed_field(12, 9);
        return out;
    case Kind::OrderedPair:
        out = access_of_base(one);
        out.second = one.rm();
        out.moves_base = !one.bit(12);
        out.movement = out.moves_base ? static_cast<int64_t>(2 * out.size) * (out.is_load ? 1 : -1) : 0;
        out.displacement = out.moves_base && out.is_store ? *out.movement : 0;
        return out;
    case Kind::OrderedMoving:
        out = access_of_base(one);
        out.moves_base = true;
        out.movement = static_cast<int64_t>(out.size) * (out.is_load ? 1 : -1);
        out.displacement = out.is_store ? *out.movement : 0;
        return out;
    case Kind::Ordered: {
        out = access_of_base(one);
        constexpr uint32_t newer = 0x38; // ldapr
        out.is_load = one.field(24, 6) == newer || out.is_load;
        out.is_store = !out.is_load;
        return out;
    }
    case Kind::Exclusive:
        out = access_of_base(one);
        if (one.bit(21))
            out.second = one.rt2();
        return out;
    case Kind::CompareSwap:
    case Kind::CompareSwapPair:
    case Kind::Atomic:
        out = access_of_base(one);
        out.is_load = out.is_store = true;
        return out;
    case Kind::ShadowStack:
        out = access_of_base(one);
        out.is_load = false;
        out.is_store = true;
        return out;
    case Kind::VectorElements:
        out = access_of_base(one);
        out.is_vector = true;
        out.size = 0;
        out.moves_base = one.bit(23);
        out.movement = std::nullopt;
        return out;
    default:
        return std::nullopt;
    }
}

namespace {

// The registers of instructions that access_of() describes.
RegisterUses uses_of_access(const Arm64Instruction& one, const Access& access) {
    RegisterUses out;
    out.reads =
        (access.base >= 0 ? general_or_stack(access.base) : 0) | (access.index >= 0 ? general(access.index) : 0);
    if (access.moves_base)
        out.writes = general_or_stack(access.base);
    if (one.kind == Kind::VectorElements) {
        const bool is_multiple = !one.bit(24);
        constexpr uint32_t without_register = 31;
        if (access.moves_base && one.field(16, 5) != without_register)
            out.reads |= general(one.rm());
        for (int i = 0; i < (is_multiple || access.is_load ? 4 : 0); i++)
            out.writes_vectors |= access.is_load ? uint32_t{1} << (one.rd() + i) % 32 : 0;
        return out;
    }
    for (const int number : {access.first, access.second}) {
        if (number < 0)
            continue;
        if (access.is_vector && access.is_load)
            out.writes_vectors |= uint32_t{1} << number;
        else if (!access.is_vector)
            (access.is_load ? out.writes : out.reads) |= general(number);
    }
    switch (one.kind) {
    case Kind::Exclusive: // the store says whether it succeeded
        if (access.is_store)
            out.writes |= general(one.rm());
        break;
    case Kind::Atomic:
        out.reads |= general(one.rm());
        break;
    case Kind::CompareSwap:
        out.reads |= general(one.rd()) | general(one.rm());
        out.writes = general(one.rm());
        break;
    case Kind::CompareSwapPair:
        out.reads |= general(one.rd()) | general(one.rd() | 1) | general(one.rm()) | general(one.rm() | 1);
        out.writes = general(one.rm()) | general(one.rm() | 1);
        break;
    default:
        break;
    }
    return out;
}

RegisterUses unknown() { return {.is_known = false}; }

// Hints use registers without naming them. Processors without the extension ignore them.
RegisterUses uses_of_hint(const Arm64Instruction& one) {
    constexpr uint32_t x16 = 1U << 16, x17 = 1U << 17, lr = 1U << 30, sp = 1U << 31;
    const uint32_t number = one.field(5, 7);
    switch (number) {
    case 7: // xpaclri
        return {.reads = lr, .writes = lr};
    case 8: // pacia1716 and others
    case 10:
    case 12:
    case 14:
        return {.reads = x16 | x17, .writes = x17};
    case 40: // chkfeat
        return {.reads = x16, .writes = x16};
    default:
        if (number >= 24 && number <= 31) // paciasp, autiasp and others
            return {.reads = lr | sp, .writes = lr};
        return {};
    }
}

RegisterUses uses_of_conversion(const Arm64Instruction& one) {
    const uint32_t operation = one.field(16, 3);
    const bool is_from_general = operation == 2 || operation == 3 || operation == 7;
    return is_from_general ? RegisterUses{.reads = general(one.rn()), .writes_vectors = general_or_stack(one.rd())}
                           : RegisterUses{.writes = general(one.rd())};
}

// Whether a vector instruction copies a general register: dup and ins.
bool is_from_general(const Arm64Instruction& one) {
    return (one.word & 0xbfe0fc00) == 0x0e000c00 || (one.word & 0xffe0fc00) == 0x4e001c00;
}

} // namespace

RegisterUses uses_of(const Arm64Instruction& one) {
    if (const std::optional<Access> access = access_of(one))
        return uses_of_access(one, *access);
    const uint32_t d = general(one.rd()), n = general(one.rn()), m = general(one.rm());
    const uint32_t d_or_stack = general_or_stack(one.rd()), n_or_stack = general_or_stack(one.rn());
    const bool sets_flags = one.bit(29);
    switch (one.kind) {
    case Kind::Address:
    case Kind::PageAddress:
        return {.writes = d};
    case Kind::AddConstant:
        return {.reads = n_or_stack, .writes = sets_flags ? d : d_or_stack};
    case Kind::AddTag:
        return {.reads = n_or_stack, .writes = d_or_stack};
    case Kind::LogicalConstant: {
        constexpr uint32_t and_with_flags = 3;
        return {.reads = n, .writes = one.field(29, 2) == and_with_flags ? d : d_or_stack};
    }
    case Kind::MoveConstant: {
        constexpr uint32_t keep = 3;
        return {.reads = one.field(29, 2) == keep ? d : 0, .writes = d};
    }
    case Kind::Bitfield: {
        constexpr uint32_t insert = 1;
        return {.reads = n | (one.field(29, 2) == insert ? d : 0), .writes = d};
    }
    case Kind::Extract:
    case Kind::Logical:
    case Kind::Add:
        return {.reads = n | m, .writes = d};
    case Kind::AddExtended:
        return {.reads = n_or_stack | m, .writes = sets_flags ? d : d_or_stack};
    case Kind::MinMaxConstant:
    case Kind::TwoRegisters:
        return {.reads = n, .writes = d};
    case Kind::ThreeRegisters: // irg, subp and addpt use the stack pointer
        return {.reads = n | m | (one.is_wide() ? n_or_stack : 0), .writes = d | (one.is_wide() ? d_or_stack : 0)};
    case Kind::FourRegisters:
        return {.reads = n | m | general(one.rt2()), .writes = d};
    case Kind::SetFlags:
        return {.reads = n};
    case Kind::ConditionalCompare:
        return {.reads = n | (one.bit(11) ? 0 : m)};
    case Kind::Authentication:
        return {.reads = d | n_or_stack | 1U << 15 | 1U << 16 | 1U << 17 | 1U << 30, .writes = d | 1U << 17 | 1U << 30};
    case Kind::AuthenticateByPlace:
        return {.reads = 1U << 30, .writes = 1U << 30};
    case Kind::CompareAndBranch:
    case Kind::TestAndBranch:
    case Kind::WriteSystem:
        return {.reads = d};
    case Kind::BranchRegister:
    case Kind::CallRegister:
    case Kind::AuthenticatedBranch:
    case Kind::AuthenticatedCall:
        return {.reads = n | (one.bit(24) ? d_or_stack : 0)};
    case Kind::ReadSystem:
        return {.writes = d};
    case Kind::SystemOperation: // some also return a value
    case Kind::SystemResult:
        return {.reads = d, .writes = d};
    case Kind::Wait:
        return {.reads = d};
    case Kind::CopyMemory:
        return {.reads = d | n | m, .writes = d | n | m};
    case Kind::Tags:
        return {.reads = d_or_stack | n_or_stack, .writes = d | n_or_stack};
    case Kind::Hint:
        return uses_of_hint(one);
    case Kind::FloatConversion:
        return uses_of_conversion(one);
    case Kind::ElementToGeneral:
        return {.writes = d};
    case Kind::VectorMove:
    case Kind::VectorLogical:
    case Kind::VectorArithmetic:
    case Kind::Vector:
        return {.reads = is_from_general(one) ? n : 0, .writes_vectors = d_or_stack};
    case Kind::FloatCompare:
    case Kind::Barrier:
    case Kind::StateConstant:
    case Kind::Branch:
    case Kind::ConditionalBranch:
    case Kind::ConsistentBranch:
        return {};
    default:
        return unknown();
    }
}

int64_t added_constant(const Arm64Instruction& one) {
    constexpr unsigned subtracts = 30, shifted = 22;
    const auto constant = int64_t{one.field(10, 12)} << (one.bit(shifted) ? 12 : 0);
    return one.bit(subtracts) ? -constant : constant;
}

} // namespace sonde::arm64
