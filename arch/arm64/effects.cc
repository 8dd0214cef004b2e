// What instructions do to registers and to the frame, and how they use the registers with a result.
//
// The registers that an instruction writes are known exactly (operands.h), except for scalable vectors. A prologue
// stores two registers at a time, and moves the stack pointer by the same instruction: `stp x29, x30, [sp, #-32]!`.
#include "arch/arm64/classify.h"
#include "arch/arm64/operands.h"
#include "arch/arm64/registers.h"

namespace sonde::arm64 {
namespace {

constexpr int zero = 31; // the register with the value 0, where the number does not mean the stack pointer

int stored(const Access& access, int number) { return !access.is_vector && number == zero ? -1 : number; }

std::optional<Effect> store_of(const Arm64Instruction& one, const Access& access) {
    const bool is_conditional = one.kind == Kind::Exclusive;
    if (!access.is_store || access.is_load || access.first < 0 || access.size == 0 || is_conditional)
        return std::nullopt;
    Effect out{.kind = Effect::Store,
               .from = stored(access, access.first),
               .from_vector = access.is_vector,
               .size = access.size};
    if (access.second >= 0) {
        out.kind = Effect::StorePair;
        out.second = stored(access, access.second);
    }
    return out;
}

// Moves of a register, possibly with an extension.
std::optional<Effect> copy_of(const Arm64Instruction& one) {
    constexpr uint32_t orr = 1, insert = 1;
    const auto copy = [](int from, int to, bool whole) {
        return Effect{.kind = Effect::Copy, .from = from, .to = to, .whole = whole};
    };
    switch (one.kind) {
    case Kind::Logical:
        if (one.field(29, 2) != orr || one.bit(21) || one.rn() != zero || one.field(10, 6) != 0 ||
            one.field(22, 2) != 0 || one.rm() == zero || one.rd() == zero)
            return std::nullopt;
        return copy(one.rm(), one.rd(), one.is_wide());
    case Kind::Bitfield: { // sxtb, uxth and others
        const uint32_t last = one.field(10, 6);
        const bool extends = one.field(16, 6) == 0 && (last == 7 || last == 15 || last == 31);
        if (!extends || one.field(29, 2) == insert || one.rn() == zero || one.rd() == zero)
            return std::nullopt;
        return copy(one.rn(), one.rd(), false);
    }
    default:
        return std::nullopt;
    }
}

// Additions of a constant that do not set the flags, to the stack pointer or the frame pointer, or a move from or to
// these.
std::optional<Effect> addition_of(const Arm64Instruction& one) {
    constexpr unsigned sets_flags = 29;
    if (one.kind != Kind::AddConstant || one.bit(sets_flags) || !one.is_wide())
        return std::nullopt;
    if (one.rd() == sp && one.rn() == sp)
        return Effect{.kind = Effect::MoveStack, .distance = added_constant(one)};
    if (one.rn() == sp || one.rn() == fp)
        return Effect{
            .kind = Effect::Copy, .from = one.rn(), .to = one.rd(), .whole = true, .added = added_constant(one)};
    if (one.rd() == sp && added_constant(one) == 0)
        return Effect{.kind = Effect::Copy, .from = one.rn(), .to = one.rd(), .whole = true};
    return std::nullopt;
}

} // namespace

Effect effect_of(const Arm64Instruction& one) {
    if (std::optional<Effect> found = copy_of(one))
        return *found;
    if (std::optional<Effect> found = addition_of(one))
        return *found;
    Effect out;
    const RegisterUses uses = uses_of(one);
    const std::optional<Access> access = access_of(one);
    if (!uses.is_known) {
        out.changes = out.changes_vectors = ~0U;
        return out;
    }
    if (std::optional<Effect> found = access ? store_of(one, *access) : std::nullopt)
        out = *found;
    out.changes = uses.writes;
    out.changes_vectors = uses.writes_vectors;
    constexpr uint32_t stack = uint32_t{1} << sp;
    if (access && access->moves_base && access->base == sp && access->movement) {
        out.changes &= ~stack;
        out.then_moves_stack = *access->movement;
    }
    if (one.kind == Kind::Hint && out.changes == uint32_t{1} << lr)
        out.kind = Effect::Sign;
    if (out.kind == Effect::Change && !out.changes && !out.changes_vectors && out.then_moves_stack == 0)
        out.kind = Effect::None;
    return out;
}

ResultUse use_of_result(const Arm64Instruction& one, int result) {
    const RegisterUses uses = uses_of(one);
    const uint32_t bit = uint32_t{1} << result;
    if (uses.is_known && uses.reads & bit)
        return ResultUse::Read;
    switch (one.kind) {
    case Kind::Branch:
    case Kind::Call:
    case Kind::BranchRegister:
    case Kind::CallRegister:
    case Kind::AuthenticatedBranch:
    case Kind::AuthenticatedCall:
        return ResultUse::End;
    default:
        return !uses.is_known ? ResultUse::End : uses.writes & bit ? ResultUse::Write : ResultUse::None;
    }
}

} // namespace sonde::arm64
