// Value ranges of integer expressions: all numbers from `low` to `high`, inclusive. Arithmetic wraps at 64 bits, so an
// operation that may overflow gives the full range.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frontend/hir/hir.h"

namespace sonde {

// A range of 64-bit signed numbers, both ends included.
struct Interval {
    int64_t low, high;

    // The full range, of which nothing is known.
    static constexpr Interval everything() { return {INT64_MIN, INT64_MAX}; }
    // The range of a bit field or integer type of `count` bits (1 to 64).
    static constexpr Interval bits(uint32_t count, bool is_signed) {
        if (is_signed || count >= 64)
            return {static_cast<int64_t>(~0ull << (count - 1)), static_cast<int64_t>((1ull << (count - 1)) - 1)};
        return {0, static_cast<int64_t>((1ull << count) - 1)};
    }
    bool operator==(const Interval&) const = default;
    // The smallest range that contains both.
    Interval joined(const Interval& other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

// The range of `a OP b` for all pairs of numbers from the two ranges.
Interval apply(hir::BinaryOp op, const Interval& a, const Interval& b);

} // namespace sonde
