// The expressions for "the probed jump is taken".
#include "frontend/hir/jump_condition.h"

#include <map>

#include <elf.h>

#include <gtest/gtest.h>

#include "arch/architecture.h"

namespace sonde::hir {
namespace {

// Evaluates the few kinds of expressions that a condition consists of.
int64_t value_of(const Expr& expr, const std::map<int, uint64_t>& registers) {
    const auto value = [&](const Expr* one) { return value_of(*one, registers); };
    switch (expr.kind) {
    case ExprKind::ConstLong:
        return as<ConstLong>(expr).value;
    case ExprKind::Register:
        return static_cast<int64_t>(registers.at(as<Register>(expr).number));
    case ExprKind::Unary:
        EXPECT_EQ(as<Unary>(expr).op, UnaryOp::Not);
        return !value(as<Unary>(expr).operand);
    case ExprKind::Logical: {
        const auto& one = as<Logical>(expr);
        return one.is_and ? value(one.left) && value(one.right) : value(one.left) || value(one.right);
    }
    case ExprKind::Binary: {
        const auto& one = as<Binary>(expr);
        const int64_t left = value(one.left), right = value(one.right);
        return one.op == BinaryOp::And ? left & right : one.op == BinaryOp::Ne ? left != right : left == right;
    }
    default:
        ADD_FAILURE() << "unexpected expression";
        return 0;
    }
}

bool is_taken(const Architecture& architecture, const std::string& code, const std::map<int, uint64_t>& registers) {
    Arena arena;
    const std::optional<Instruction> jump = architecture.decode(code);
    EXPECT_TRUE(jump && jump->flow == Flow::ConditionalJump);
    return jump && value_of(*is_jump_taken(arena, {}, architecture.registers(), jump->condition), registers);
}

std::string bytes(uint32_t word) { return {reinterpret_cast<const char*>(&word), sizeof word}; }

TEST(JumpCondition, FlagsOfX86) {
    const Architecture& x86 = *architecture_of(EM_X86_64, false);
    for (uint64_t flags = 0; flags < 0x1000; flags++) {
        const bool c = flags & 1, p = flags & 4, z = flags & 0x40, s = flags & 0x80, o = flags & 0x800;
        const bool expected[] = {o, c, z, c || z, s, p, s != o, z || s != o};
        for (int i = 0; i < 16; i++) {
            const std::string jump = {static_cast<char>(0x70 + i), 0};
            EXPECT_EQ(is_taken(x86, jump, {{flags_register, flags}}), expected[i / 2] != (i % 2 == 1))
                << i << " " << flags;
        }
    }
}

TEST(JumpCondition, FlagsOfArm64) {
    const Architecture& arm64 = *architecture_of(EM_AARCH64, false);
    for (uint64_t nzcv = 0; nzcv < 16; nzcv++) {
        const bool n = nzcv & 8, z = nzcv & 4, c = nzcv & 2, v = nzcv & 1;
        const bool expected[] = {z, c, n, v, c && !z, n == v, !z && n == v};
        for (uint32_t i = 0; i < 14; i++)
            EXPECT_EQ(is_taken(arm64, bytes(0x54000000 | i), {{flags_register, nzcv << 28 | 0x1000}}),
                      expected[i / 2] != (i % 2 == 1))
                << i << " " << nzcv;
    }
}

TEST(JumpCondition, RegistersOfArm64) {
    const Architecture& arm64 = *architecture_of(EM_AARCH64, false);
    const auto taken = [&](uint32_t word, uint64_t value) { return is_taken(arm64, bytes(word), {{3, value}}); };
    constexpr uint64_t upper = uint64_t{1} << 63;
    EXPECT_TRUE(taken(0x34000003, upper)); // cbz w3
    EXPECT_FALSE(taken(0x34000003, 1));
    EXPECT_FALSE(taken(0xb4000003, upper)); // cbz x3
    EXPECT_TRUE(taken(0xb4000003, 0));
    EXPECT_TRUE(taken(0xb5000003, upper)); // cbnz x3
    EXPECT_TRUE(taken(0xb7f80003, upper)); // tbnz x3, #63
    EXPECT_FALSE(taken(0xb7f80003, ~upper));
    EXPECT_TRUE(taken(0x36180003, ~uint64_t{8})); // tbz w3, #3
    EXPECT_FALSE(taken(0x36180003, 8));
}

} // namespace
} // namespace sonde::hir
