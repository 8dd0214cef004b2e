// Reads statistics (`<<<`), and draws their histograms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace sonde {

// Reads a statistic's block and buckets in place. min() and max() are valid only if block->count is not 0.
struct StatsView {
    const plan::StatsBlock* block;
    const uint64_t* buckets; // first the histogram's, then those of the percentiles

    int64_t min() const { return static_cast<int64_t>(~block->min_biased - (1ull << 63)); }
    int64_t max() const { return static_cast<int64_t>(block->max_biased - (1ull << 63)); }
    int64_t avg() const { return block->count ? block->sum / static_cast<int64_t>(block->count) : 0; }
    // In integer arithmetic, rounded toward 0. Returns 0 for fewer than two values.
    int64_t variance() const;
    // Returns the least value that is not below `millionths` of all values, accurate to 1/32 (quantile.h). The
    // statistic must have a value and must keep percentiles.
    int64_t percentile(const plan::StatsNeeds& needs, int64_t millionths) const;
};
// The percentiles that output shows.
struct NamedPercentile {
    const char* name;
    int64_t millionths;
};
constexpr NamedPercentile told_percentiles[] = {{"p50", 500000}, {"p90", 900000}, {"p99", 990000}};

namespace plan {
// True if the statistic stores the distribution of its values, not only their sums.
inline bool keeps_distribution(const StatsNeeds& needs) { return needs.quantiles || needs.buckets(); }
} // namespace plan

// The least and the greatest value of a bucket, both inclusive; empty: no bound.
struct BucketBounds {
    std::optional<int64_t> low, high;
};
// The bounds of a bucket by its index, for a logarithmic or a linear histogram.
BucketBounds bucket_bounds(const plan::StatsNeeds& needs, uint32_t bucket);

// Draws print(@hist_log(x)) and print(@hist_linear(x, low, high, width)): a heading `value |---`, one line for each
// bucket, and an empty line at the end. A `~` replaces runs of empty buckets. With StatsNeeds::unicode, bars have a
// resolution of an eighth of a character, each line has its share of all values, and a line with percentiles follows.
// `statistic` points to a StatsBlock and its buckets.
std::string render_histogram(const plan::StatsNeeds& needs, const uint64_t* statistic);

} // namespace sonde
