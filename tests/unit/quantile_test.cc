// Buckets of percentiles: their bounds over all numbers, and percentiles against sorted values.
#include "runtime/plan/quantile.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/values/histogram.h"

namespace sonde {
namespace {

using Wide = __int128;

// Whether the middle of the value's bucket is at most 1/32 away from it.
bool is_near(int64_t value, int64_t estimate) {
    const Wide off = static_cast<Wide>(estimate) - value, size = static_cast<Wide>(value);
    return (off < 0 ? -off : off) * 32 <= (size < 0 ? -size : size);
}

TEST(Quantile, EveryNumberIsNearTheMiddleOfItsBucket) {
    std::vector<int64_t> values = {0, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (int bit = 0; bit < 63; bit++)
        for (int64_t off : {-1, 0, 1})
            values.push_back((int64_t{1} << bit) + off);
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; i++)
        values.push_back(static_cast<int64_t>(random() >> (random() % 64)));
    for (size_t i = 0, all = values.size(); i < all; i++)
        if (values[i] != INT64_MIN)
            values.push_back(-values[i]);
    for (int64_t value : values) {
        const uint64_t bucket = sonde_quantile_bucket(value);
        ASSERT_LT(bucket, static_cast<uint64_t>(SONDE_QUANTILE_BUCKETS)) << value;
        const int64_t middle = sonde_quantile_value(bucket);
        ASSERT_TRUE(is_near(value, middle) || value == INT64_MIN) << value << " " << middle;
        if (value > -32 && value < 32) {
            ASSERT_EQ(value, middle);
        }
    }
}

TEST(Quantile, BucketsFollowEachOther) {
    for (uint64_t step = 0; step + 1 < SONDE_QUANTILE_HALF; step++) {
        const uint64_t next = sonde_quantile_low(step) + sonde_quantile_width(step);
        ASSERT_EQ(next, sonde_quantile_low(step + 1)) << step;
        ASSERT_EQ(sonde_quantile_bucket(static_cast<int64_t>(next)), SONDE_QUANTILE_HALF + step + 1);
        ASSERT_EQ(sonde_quantile_bucket(static_cast<int64_t>(next - 1)), SONDE_QUANTILE_HALF + step);
    }
}

TEST(Quantile, PercentilesAreThoseOfSortedValues) {
    const plan::StatsNeeds needs{.quantiles = true};
    std::mt19937_64 random(2);
    for (int round = 0; round < 200; round++) {
        const size_t count = 1 + random() % 3000;
        const int shift = static_cast<int>(random() % 60);
        std::vector<int64_t> values;
        std::vector<uint64_t> buckets(SONDE_QUANTILE_BUCKETS);
        plan::StatsBlock block{};
        for (size_t i = 0; i < count; i++) {
            auto value = static_cast<int64_t>(random() >> 2 >> shift) * (round % 3 ? 1 : random() % 2 ? 1 : -1);
            values.push_back(value);
            buckets[sonde_quantile_bucket(value)]++;
            const uint64_t biased = static_cast<uint64_t>(value) + (1ull << 63);
            block.count++;
            block.min_biased = std::max(block.min_biased, ~biased);
            block.max_biased = std::max(block.max_biased, biased);
        }
        std::sort(values.begin(), values.end());
        for (int64_t millionths : {0, 10000, 250000, 500000, 900000, 990000, 999000, 999999, 1000000}) {
            // The smallest value that is not below at least this many values.
            const auto rank =
                static_cast<size_t>(std::max<Wide>(1, (static_cast<Wide>(count) * millionths + 999999) / 1000000));
            const int64_t estimate = StatsView{&block, buckets.data()}.percentile(needs, millionths);
            ASSERT_TRUE(is_near(values[rank - 1], estimate))
                << count << " " << millionths << " " << values[rank - 1] << " " << estimate;
        }
    }
}

TEST(Quantile, RanksOfManyValuesDoNotOverflow) {
    EXPECT_EQ(sonde_quantile_rank(UINT64_MAX, 1000000), UINT64_MAX);
    EXPECT_EQ(sonde_quantile_rank(1000, 999000), 999u);
    EXPECT_EQ(sonde_quantile_rank(1001, 999000), 1000u);
    EXPECT_EQ(sonde_quantile_rank(5, 0), 1u);
}

} // namespace
} // namespace sonde
