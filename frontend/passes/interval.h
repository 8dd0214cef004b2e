// The numbers that an expression can have: all from a lowest to a highest one. Sums and products that do not fit into
// 64 bits wrap, so their interval is everything.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frontend/hir/hir.h"

namespace sonde {

struct Interval {
    int64_t low, high;

    static constexpr Interval everything() { return {INT64_MIN, INT64_MAX}; }
    static constexpr Interval bits(uint32_t count, bool is_signed) { // count: 1 to 64
        if (is_signed || count >= 64)
            return {static_cast<int64_t>(~0ull << (count - 1)), static_cast<int64_t>((1ull << (count - 1)) - 1)};
        return {0, static_cast<int64_t>((1ull << count) - 1)};
    }
    bool operator==(const Interval&) const = default;
    Interval joined(const Interval& other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
};

// What `a OP b` gives for all numbers of both.
Interval apply(hir::BinaryOp op, const Interval& a, const Interval& b);

} // namespace sonde
