// The decisions repeat those of the kernel, like those of the other architectures. If a newer kernel is right about
// more instructions, the session's trial finds out for the classes that it can try.
#include "arch/arm64/hazards.h"

#include <optional>
#include <vector>

#include "arch/arm64/classify.h"
#include "arch/arm64/operands.h"
#include "arch/instruction.h"

namespace sonde::arm64 {
namespace {

// Hints by their number (CRm and op2).
enum : uint32_t { Nop = 0, XpacLr = 7, Pacia1716 = 8, Pacib1716 = 10, Autia1716 = 12, Autib1716 = 14 };
constexpr uint32_t first_pacia = 24, last_pacib = 27, last_auth = 31, bti = 32;

uint32_t hint_of(const Arm64Instruction& one) { return one.field(5, 7); }
bool is_bti(uint32_t hint) { return (hint & ~uint32_t{6}) == bti; }

Arm64Hazard hint_hazard(uint32_t hint) {
    const bool signs =
        hint == XpacLr || hint == Pacia1716 || hint == Pacib1716 || (hint >= first_pacia && hint <= last_pacib);
    if (hint == Nop || signs || is_bti(hint))
        return Arm64Hazard::None;
    const bool checks = hint == Autia1716 || hint == Autib1716 || (hint > last_pacib && hint <= last_auth);
    return checks ? Arm64Hazard::Authenticated : Arm64Hazard::Refused;
}

// Signatures that include the instruction's own address: paciasppc, pacnbiasppc and the same with the key B.
bool signs_by_place(const Arm64Instruction& one) {
    constexpr uint32_t first = 0xdac183fe, others = 0xfffff3ff, second = 0xdac1a3fe;
    return (one.word & others) == (first & others) || (one.word & others) == (second & others);
}

bool is_exclusive(const Arm64Instruction& one, bool load) {
    constexpr unsigned loads = 22;
    return one.kind == Kind::Exclusive && one.bit(loads) == load;
}

bool is_clear_exclusive(const Arm64Instruction& one) {
    constexpr uint32_t clrex = 0xd503305f, without_number = 0xfffff0ff;
    return (one.word & without_number) == clrex;
}

// Visits the instructions that can be executed after some others, each once. `visit` returns whether to go on behind
// it.
template <typename Visit>
void visit_after(const std::vector<std::optional<Arm64Instruction>>& code, std::vector<size_t> from, Visit visit) {
    std::vector<bool> seen(code.size());
    const auto go_to = [&](int64_t to) {
        const auto index = static_cast<size_t>(to); // before the code: a huge number
        if (index >= code.size() || seen[index] || !code[index])
            return;
        seen[index] = true;
        if (visit(index))
            from.push_back(index);
    };
    while (!from.empty()) {
        const auto next = static_cast<int64_t>(from.back()) + 1;
        Instruction one;
        classify(*code[from.back()], one);
        from.pop_back();
        if (!one.ends_flow())
            go_to(next);
        if (one.is_direct_jump())
            go_to(next + one.distance / static_cast<int64_t>(instruction_size));
    }
}

} // namespace

Arm64Hazard hazard_of(const Arm64Instruction& one) {
    switch (one.kind) {
    case Kind::SystemCall:
        return Arm64Hazard::SystemCall;
    case Kind::Breakpoint:
    case Kind::Halt:
        return Arm64Hazard::Interrupt;
    case Kind::Literal: {
        constexpr unsigned vector = 26;
        constexpr uint32_t prefetch = 3;
        if (one.bit(vector))
            return Arm64Hazard::VectorLiteral;
        return one.field(30, 2) == prefetch ? Arm64Hazard::Refused : Arm64Hazard::Literal;
    }
    case Kind::Exclusive:
        return Arm64Hazard::Exclusive;
    case Kind::Ordered: {
        constexpr uint32_t like_exclusive = 8;
        return one.field(24, 6) == like_exclusive ? Arm64Hazard::Ordered : Arm64Hazard::None;
    }
    case Kind::CompareSwap:
        return Arm64Hazard::CompareSwap;
    case Kind::AuthenticatedBranch:
    case Kind::AuthenticatedCall:
    case Kind::AuthenticatedReturn:
        return Arm64Hazard::Authenticated;
    case Kind::ConsistentBranch:
    case Kind::ReturnByPlace:
    case Kind::AuthenticateByPlace:
        return Arm64Hazard::OwnAddress;
    case Kind::Authentication:
        return signs_by_place(one) ? Arm64Hazard::OwnAddress : Arm64Hazard::None;
    case Kind::CopyMemory:
        return Arm64Hazard::CopySequence;
    case Kind::Transaction:
        return Arm64Hazard::Transaction;
    case Kind::CompareSwapPair:
    case Kind::Privileged:
    case Kind::StateConstant:
    case Kind::WriteSystem:
        return Arm64Hazard::Refused;
    case Kind::Hint:
        return hint_hazard(hint_of(one));
    default:
        return Arm64Hazard::None;
    }
}

// Compilers write such a pair in a loop. Hand-written code jumps out between the two, so the flow decides:
//
//     1: ldaxr w0, [x1]
//        cmp   w0, w2         between
//        b.ne  2f             between
//        stlxr w3, w4, [x1]
//        cbnz  w3, 1b         not between: the next round begins with a load
//     2: ret
bool is_between_exclusives(std::string_view code, size_t at) {
    std::vector<std::optional<Arm64Instruction>> all;
    std::vector<size_t> loads;
    for (size_t i = at % instruction_size; i + instruction_size <= code.size(); i += instruction_size) {
        all.push_back(decode_arm64(code.substr(i, instruction_size)));
        if (all.back() && is_exclusive(*all.back(), true))
            loads.push_back(all.size() - 1);
    }
    const size_t wanted = at / instruction_size;
    if (loads.empty() || wanted >= all.size() || !all[wanted] || is_clear_exclusive(*all[wanted]))
        return false;
    const auto goes_on = [&](size_t i) { return all[i]->kind != Kind::Exclusive && !is_clear_exclusive(*all[i]); };
    bool is_behind_load = false, is_before_store = false;
    visit_after(all, loads, [&](size_t i) {
        is_behind_load = is_behind_load || i == wanted;
        return goes_on(i);
    });
    if (!is_behind_load)
        return false;
    visit_after(all, {wanted}, [&](size_t i) {
        is_before_store = is_before_store || is_exclusive(*all[i], false);
        return goes_on(i);
    });
    return is_before_store;
}

std::span<const HazardTraits> arm64_hazards() {
    static constexpr HazardTraits all[] = {
#define HAZARD(id, trial, effect, place, text)                                                                         \
    {#id, HazardTrial::trial, HazardEffect::effect, HazardPlace::place, text},
#include "arch/instruction_hazards.def"
// the neutral classes have the first numbers
#include "arch/arm64/hazards.def"
#undef HAZARD
    };
    return all;
}

// Loads of vector registers that have a hazard count too: a handler cannot read these registers.
bool leaves_state(const Arm64Instruction& one) {
    switch (one.kind) {
    case Kind::Barrier:
        return true;
    case Kind::Literal:
        return hazard_of(one) != Arm64Hazard::Literal;
    case Kind::Hint:
        return uses_of(one).writes == 0;
    default:
        return false;
    }
}

bool is_single_stepped(const Arm64Instruction& one) {
    constexpr uint32_t paciasp = 25, pacibsp = 27;
    switch (one.kind) {
    case Kind::Address:
    case Kind::PageAddress:
    case Kind::Branch:
    case Kind::Call:
    case Kind::ConditionalBranch:
    case Kind::CompareAndBranch:
    case Kind::TestAndBranch:
    case Kind::BranchRegister:
    case Kind::CallRegister:
    case Kind::Return:
        return false;
    case Kind::Hint: {
        const uint32_t hint = hint_of(one);
        return hint != Nop && hint != paciasp && hint != pacibsp && !is_bti(hint);
    }
    default:
        return true;
    }
}

} // namespace sonde::arm64
