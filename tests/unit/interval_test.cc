// Intervals: every result for numbers of two intervals is in the interval that apply() returns.
#include "frontend/passes/interval.h"

#include <gtest/gtest.h>

#include <optional>

namespace sonde {
namespace {

using hir::BinaryOp;

// Computes as handlers do; nullopt: an error.
std::optional<int64_t> compute(BinaryOp op, int64_t a, int64_t b) {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (op) {
    case BinaryOp::Add:
        return static_cast<int64_t>(x + y);
    case BinaryOp::Sub:
        return static_cast<int64_t>(x - y);
    case BinaryOp::Mul:
        return static_cast<int64_t>(x * y);
    case BinaryOp::Div:
        return b == 0 ? std::nullopt : std::optional(b == -1 ? static_cast<int64_t>(0 - x) : a / b);
    case BinaryOp::Mod:
        return b == 0 ? std::nullopt : std::optional(b == -1 ? 0 : a % b);
    case BinaryOp::Shl:
        return static_cast<int64_t>(x << (y & 63));
    case BinaryOp::Shr:
        return a >> (y & 63);
    case BinaryOp::ShrLogical:
        return static_cast<int64_t>(x >> (y & 63));
    case BinaryOp::And:
        return a & b;
    case BinaryOp::Or:
        return a | b;
    case BinaryOp::Xor:
        return a ^ b;
    default:
        return a < b;
    }
}

TEST(Interval, HoldsEveryResult) {
    const Interval some[] = {{0, 0},
                             {1, 1},
                             {3, 3},
                             {-1, -1},
                             {-4, 3},
                             {0, 9},
                             {5, 12},
                             {-9, -2},
                             {63, 64},
                             {0, INT32_MAX},
                             {INT32_MIN, 0},
                             {INT64_MAX - 1, INT64_MAX},
                             {INT64_MIN, INT64_MIN + 2},
                             Interval::everything()};
    auto members = [](const Interval& interval) {
        std::vector<int64_t> out;
        for (uint64_t i = 0; i < 12; i++) {
            if (i <= static_cast<uint64_t>(interval.high) - static_cast<uint64_t>(interval.low)) {
                out.push_back(static_cast<int64_t>(static_cast<uint64_t>(interval.low) + i));
                out.push_back(static_cast<int64_t>(static_cast<uint64_t>(interval.high) - i));
            }
        }
        return out;
    };
    for (int op = 0; op <= static_cast<int>(BinaryOp::Ge); op++)
        for (const Interval& a : some)
            for (const Interval& b : some) {
                Interval all = apply(static_cast<BinaryOp>(op), a, b);
                for (int64_t x : members(a))
                    for (int64_t y : members(b))
                        if (std::optional<int64_t> z = compute(static_cast<BinaryOp>(op), x, y)) {
                            ASSERT_LE(all.low, *z) << op << ": " << x << ", " << y;
                            ASSERT_GE(all.high, *z) << op << ": " << x << ", " << y;
                        }
            }
}

TEST(Interval, IsAsNarrowAsThat) {
    auto is = [](BinaryOp op, Interval a, Interval b, Interval expected) {
        EXPECT_EQ(apply(op, a, b), expected) << static_cast<int>(op);
    };
    is(BinaryOp::Add, {1, 2}, {-5, 5}, {-4, 7});
    is(BinaryOp::Add, {1, 2}, {0, INT64_MAX}, Interval::everything());
    is(BinaryOp::Sub, {1, 2}, {-5, 5}, {-4, 7});
    is(BinaryOp::Mul, {-2, 3}, {-5, 4}, {-15, 12});
    is(BinaryOp::Div, {-7, 100}, {8, 8}, {0, 12});
    is(BinaryOp::Mod, {0, INT64_MAX}, {10, 10}, {0, 9});
    is(BinaryOp::Mod, {0, 5}, {10, 10}, {0, 5});
    is(BinaryOp::Mod, Interval::everything(), {10, 10}, {-9, 9});
    is(BinaryOp::Shr, {-8, 1024}, {3, 3}, {-1, 128});
    is(BinaryOp::And, Interval::everything(), {0, 255}, {0, 255});
    is(BinaryOp::Or, {0, 4}, {0, 9}, {0, 15});
    EXPECT_EQ(Interval::bits(8, true), (Interval{-128, 127}));
    EXPECT_EQ(Interval::bits(32, false), (Interval{0, UINT32_MAX}));
    EXPECT_EQ(Interval::bits(64, false), Interval::everything());
}

} // namespace
} // namespace sonde
