// Histograms in the format of SystemTap (language reference, "Histogram extractors").
//
// Logarithmic buckets are numbered by the bits of a value. 64 is for 0, and negative values are mirrored:
//
//     bucket     62          63    64    65    66        67
//     values     -3 to -2    -1    0     1     2 to 3    4 to 7
//
// Linear buckets are: 0 for values below `low`, one for each width, and the last one for values above `high`.
#include "runtime/values/histogram.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/bars.h"

namespace sonde {

// The sum of squares needs 128 bits: the square of a single value may have 126.
int64_t StatsView::variance() const {
    using Wide = unsigned __int128;
    uint64_t n = block->count;
    if (n < 2)
        return 0;
    Wide squares = static_cast<Wide>(block->squares_high) << 64 | block->squares_low;
    Wide magnitude = block->sum < 0 ? 0 - static_cast<uint64_t>(block->sum) : static_cast<uint64_t>(block->sum);
    return static_cast<int64_t>((squares - (magnitude * magnitude + n - 1) / n) / (n - 1));
}

int64_t StatsView::percentile(const plan::StatsNeeds& needs, int64_t millionths) const {
    const uint64_t rank = sonde_quantile_rank(block->count, static_cast<uint64_t>(millionths));
    if (rank <= 1)
        return min();
    if (rank >= block->count)
        return max();
    const uint64_t* counts = buckets + needs.buckets();
    uint64_t seen = 0;
    for (uint64_t i = 0; i < SONDE_QUANTILE_BUCKETS; i++)
        if ((seen += counts[i]) >= rank)
            return std::clamp(static_cast<int64_t>(sonde_quantile_value(i)), min(), max());
    return max();
}

namespace {

constexpr size_t log_zero = 64; // index of the bucket for 0; those of negative values come before it

// Returns the label of a bucket: its bound that is nearer to 0, or its lower bound if the histogram is linear.
std::string label(const plan::StatsNeeds& needs, size_t bucket) {
    if (needs.histogram == plan::StatsNeeds::Log) {
        if (bucket == log_zero)
            return "0";
        if (bucket > log_zero)
            return std::to_string(1ull << (bucket - 65));
        return bucket == 0 ? std::to_string(INT64_MIN) : "-" + std::to_string(1ull << (63 - bucket));
    }
    if (bucket == 0)
        return fmt::format("<{}", needs.low);
    if (bucket + 1 == needs.buckets())
        return fmt::format(">{}", needs.high);
    return std::to_string(needs.low + static_cast<int64_t>(bucket - 1) * needs.width);
}

} // namespace

// Logarithmic buckets: index 64 is for 0, 65 for 1, 66 for 2 and 3, 67 for 4 to 7, and 63 for -1, 62 for -3 and -2.
// Linear buckets: the first one is for underflow and the last one for overflow.
BucketBounds bucket_bounds(const plan::StatsNeeds& needs, uint32_t bucket) {
    if (needs.histogram == plan::StatsNeeds::Log) {
        if (bucket == log_zero)
            return {0, 0};
        if (bucket > log_zero) {
            const int64_t low = int64_t{1} << (bucket - 65);
            return {low, low + (low - 1)};
        }
        const int64_t high = bucket == 0 ? INT64_MIN : -(int64_t{1} << (63 - bucket));
        return {bucket <= 1 ? INT64_MIN : high * 2 + 1, high};
    }
    const int64_t low = needs.low + (static_cast<int64_t>(bucket) - 1) * needs.width;
    if (bucket == 0)
        return {std::nullopt, needs.low - 1};
    if (bucket + 1 == needs.buckets())
        return {low, std::nullopt};
    return {low, low + needs.width - 1};
}

namespace {

// Returns a share as a percentage with one decimal.
std::string share(uint64_t count, uint64_t total) {
    const double part = total ? 100.0 * static_cast<double>(count) / static_cast<double>(total) : 0;
    return fmt::format("{:5.1f}%", part);
}

// Returns the line with percentiles; "" if the statistic keeps none.
std::string percentile_line(const plan::StatsNeeds& needs, const uint64_t* statistic) {
    if (!needs.quantiles)
        return "";
    plan::StatsBlock block;
    std::memcpy(&block, statistic, sizeof block);
    if (block.count == 0)
        return "";
    const StatsView view{&block, statistic + sizeof block / 8};
    std::string out;
    for (const NamedPercentile& one : told_percentiles)
        out += fmt::format("{}{} {}", out.empty() ? "" : "  ", one.name, view.percentile(needs, one.millionths));
    return fmt::format("{}  max {}\n", out, view.max());
}

} // namespace

// Chooses the visible rows first, then the widths of the columns, and draws the rows last.
std::string render_histogram(const plan::StatsNeeds& needs, const uint64_t* statistic) {
    const uint64_t* counts = statistic + sizeof(plan::StatsBlock) / 8;
    constexpr size_t margin = 2; // empty rows that are shown before the first and after the last row with a count
    const size_t total = needs.buckets();
    const bool linear = needs.histogram == plan::StatsNeeds::Linear;
    const uint64_t most = *std::max_element(counts, counts + total), bar_width = needs.bar_width;
    const uint64_t scale = std::max<uint64_t>(1, most / bar_width + (most % bar_width != 0));
    const uint64_t all = std::accumulate(counts, counts + total, uint64_t{0});
    if (most == 0)
        return fmt::format("value |{:-<{}} count\n\n", "", bar_width);
    size_t first = 0, last = total - 1;
    while (!counts[first])
        first++;
    while (!counts[last])
        last--;
    // Show the rows for underflow and overflow only if they have a count. Without negative values, show no row below 0.
    const size_t least = linear ? 1 : first >= log_zero ? log_zero : 0, end = linear ? total - 1 : total;
    const size_t from = first > least ? std::max(least, first - std::min(first, margin)) : first;
    const size_t to = last + 1 < end ? std::min(end - 1, last + margin) : last;
    size_t label_width = 5, count_width = std::to_string(most).size();
    for (size_t i = from; i <= to; i++)
        label_width = std::max(label_width, label(needs, i).size());
    // Hide a row if no row within a distance of `elision` has a count.
    const size_t reach = std::min(static_cast<size_t>(std::max<int64_t>(needs.elision, 0)), total);
    const auto is_shown = [&](size_t row) {
        const size_t begin = std::max(from, row - std::min(row, reach)), stop = std::min(to, row + reach) + 1;
        return needs.elision < 0 || std::any_of(counts + begin, counts + stop, [](uint64_t count) { return count; });
    };
    if (needs.unicode)
        count_width = std::max(count_width, std::strlen("count"));
    const std::string heading = needs.unicode ? fmt::format(" {:>{}}  share", "count", count_width) : " count";
    std::string out = fmt::format("{:>{}} |{:-<{}}{}\n", "value", label_width, "", bar_width, heading);
    bool left_out = false;
    for (size_t i = from; i <= to; i++) {
        if (!is_shown(i)) {
            left_out = true;
            continue;
        }
        if (left_out)
            out += fmt::format("{:>{}} ~\n", "", label_width);
        left_out = false;
        if (needs.unicode) {
            // The longest bar has bar_width characters. Even the smallest count is visible, as an eighth of a
            // character.
            const auto eighths =
                static_cast<uint64_t>(static_cast<unsigned __int128>(counts[i]) * bar_width * 8 / most);
            const uint64_t length = counts[i] ? std::max<uint64_t>(eighths, 1) : 0;
            out += fmt::format("{:>{}} |{}{:{}} {:>{}} {}\n", label(needs, i), label_width, bar_of_eighths(length), "",
                               bar_width - (length + 7) / 8, counts[i], count_width, share(counts[i], all));
            continue;
        }
        out += fmt::format("{:>{}} |{:<{}} {:>{}}\n", label(needs, i), label_width,
                           std::string(static_cast<size_t>(counts[i] / scale), '@'), bar_width, counts[i], count_width);
    }
    return out + (needs.unicode ? percentile_line(needs, statistic) : "") + "\n";
}

} // namespace sonde
