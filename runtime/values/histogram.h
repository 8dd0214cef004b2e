// Statistics as numbers and as pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace sonde {

struct StatsView {
    const plan::StatsBlock* block;
    const uint64_t* buckets; // the histogram's, then those of the percentiles

    int64_t min() const { return static_cast<int64_t>(~block->min_biased - (1ull << 63)); }
    int64_t max() const { return static_cast<int64_t>(block->max_biased - (1ull << 63)); }
    int64_t avg() const { return block->count ? block->sum / static_cast<int64_t>(block->count) : 0; }
    int64_t variance() const;
    // The least value that so many millionths are not above, within 1/32 of it (quantile.h). Of a statistic with values
    // that keeps percentiles.
    int64_t percentile(const plan::StatsNeeds& needs, int64_t millionths) const;
};
// Those that are told where a statistic has any.
struct NamedPercentile {
    const char* name;
    int64_t millionths;
};
constexpr NamedPercentile told_percentiles[] = {{"p50", 500000}, {"p90", 900000}, {"p99", 990000}};

namespace plan {
// Whether the statistic knows more of its values than their sums.
inline bool keeps_distribution(const StatsNeeds& needs) { return needs.quantiles || needs.buckets(); }
} // namespace plan

// The values that a bucket counts, both included; empty: there is no bound.
struct BucketBounds {
    std::optional<int64_t> low, high;
};
BucketBounds bucket_bounds(const plan::StatsNeeds& needs, uint32_t bucket);

// print(@hist_log(x)) and print(@hist_linear(x, low, high, width)): `value |---` and a row a bucket, runs of empty ones
// elided, a blank line at the end. With StatsNeeds::unicode bars in eighths of a character, each row's share of all,
// and the percentiles below them. `statistic`: a StatsBlock and its buckets.
std::string render_histogram(const plan::StatsNeeds& needs, const uint64_t* statistic);

} // namespace sonde
