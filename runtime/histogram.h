// Statistics as numbers and as pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/plan.h"

namespace sonde {

struct StatsView {
    const plan::StatsBlock* block;
    const uint64_t* buckets; // plan::StatsNeeds::buckets() of them

    int64_t min() const { return static_cast<int64_t>(~block->min_biased - (1ull << 63)); }
    int64_t max() const { return static_cast<int64_t>(block->max_biased - (1ull << 63)); }
    int64_t avg() const { return block->count ? block->sum / static_cast<int64_t>(block->count) : 0; }
    int64_t variance() const;
};

// The values that a bucket counts, both included; empty: there is no bound.
struct BucketBounds {
    std::optional<int64_t> low, high;
};
BucketBounds bucket_bounds(const plan::StatsNeeds& needs, uint32_t bucket);

// print(@hist_log(x)) and print(@hist_linear(x, low, high, width)): `value |---` and a row a bucket, runs of empty ones
// elided, a blank line at the end.
std::string render_histogram(const plan::StatsNeeds& needs, const uint64_t* buckets);

} // namespace sonde
