// Interval arithmetic: from the bounds of two operands, computes bounds of the result. `pid() % 10` is from -9 to 9,
// and from 0 to 9 if pid() is known not to be negative. A key then needs fewer bytes for it.
//
// The result must contain every possible value, but need not be exact. If an operation may overflow or the rule is not
// known, the result is everything(), which is always correct.
#include "frontend/passes/interval.h"

#include <bit>

namespace sonde {
namespace {

using hir::BinaryOp;

// Applies the operation to the four pairs of bounds. All other results lie between the smallest and the largest of
// these.
template <typename Operation> Interval corners(const Interval& a, const Interval& b, Operation overflows) {
    Interval out{INT64_MAX, INT64_MIN};
    for (int64_t x : {a.low, a.high})
        for (int64_t y : {b.low, b.high}) {
            int64_t result = 0;
            if (overflows(x, y, &result))
                return Interval::everything();
            out = out.joined({result, result});
        }
    return out;
}

// The result of `%` has the sign of the dividend, as in C.
Interval remainder(const Interval& a, int64_t divisor) {
    if (a.low >= 0)
        return {0, std::min(a.high, divisor - 1)};
    return {1 - divisor, divisor - 1};
}

} // namespace

// Three rules need a reason:
//
// * Division, remainder and right shifts are bounded only for a constant second operand, which covers nearly all
//   scripts.
// * `a & b` is not above a non-negative operand, whatever the other one is, because it has a subset of its bits.
// * `a | b` and `a ^ b` of non-negative operands have no bit above the highest bit of both bounds: 5 | 9 is at most 15.
Interval apply(BinaryOp op, const Interval& a, const Interval& b) {
    const bool never_negative = a.low >= 0 && b.low >= 0;
    switch (op) {
    case BinaryOp::Add:
        return corners(a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_add_overflow(x, y, z); });
    case BinaryOp::Sub:
        return corners(a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_sub_overflow(x, y, z); });
    case BinaryOp::Mul:
        return corners(a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_mul_overflow(x, y, z); });
    case BinaryOp::Div:
        return b.low == b.high && b.low > 0 ? Interval{a.low / b.low, a.high / b.low} : Interval::everything();
    case BinaryOp::Mod:
        return b.low == b.high && b.low > 0 ? remainder(a, b.low) : Interval::everything();
    case BinaryOp::Shr:
    case BinaryOp::ShrLogical:
        if (b.low != b.high || b.low < 0 || b.low > 63 || (op == BinaryOp::ShrLogical && a.low < 0))
            return Interval::everything();
        return {a.low >> b.low, a.high >> b.low};
    case BinaryOp::And:
        if (never_negative)
            return {0, std::min(a.high, b.high)};
        if (a.low >= 0 || b.low >= 0)
            return {0, a.low >= 0 ? a.high : b.high};
        return Interval::everything();
    case BinaryOp::Or:
    case BinaryOp::Xor:
        if (!never_negative)
            return Interval::everything();
        return {0, static_cast<int64_t>(~0ull >> std::countl_zero(static_cast<uint64_t>(a.high | b.high) | 1))};
    case BinaryOp::Shl:
        return Interval::everything();
    default:
        return {0, 1}; // comparisons
    }
}

} // namespace sonde
