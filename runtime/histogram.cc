// Histograms as SystemTap draws them (language reference, "Histogram extractors").
#include "runtime/histogram.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace sonde {

int64_t StatsView::variance() const {
    using Wide = unsigned __int128;
    uint64_t n = block->count;
    if (n < 2)
        return 0;
    Wide squares = static_cast<Wide>(block->squares_high) << 64 | block->squares_low;
    Wide magnitude = block->sum < 0 ? 0 - static_cast<uint64_t>(block->sum) : static_cast<uint64_t>(block->sum);
    return static_cast<int64_t>((squares - (magnitude * magnitude + n - 1) / n) / (n - 1));
}

namespace {

constexpr size_t log_zero = 64; // the bucket of 0

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

std::string render_histogram(const plan::StatsNeeds& needs, const uint64_t* counts) {
    size_t total = needs.buckets();
    bool linear = needs.histogram == plan::StatsNeeds::Linear;
    uint64_t most = *std::max_element(counts, counts + total), bar_width = needs.bar_width;
    size_t elision = needs.elision < 0 ? total : static_cast<size_t>(needs.elision);
    // The rows between the first and the last that count, with some empty ones around; under- and overflow only if they
    // count.
    size_t first = total, last = 0;
    for (size_t i = 0; i < total; i++)
        if (counts[i]) {
            first = std::min(first, i);
            last = i;
        }
    uint64_t scale = std::max<uint64_t>(1, most / bar_width + (most % bar_width != 0));
    if (first == total)
        return fmt::format("value |{:-<{}} count\n\n", "", bar_width);
    // Without negative values the empty rows in front end at 0.
    size_t least = linear ? 1 : first >= log_zero ? log_zero : 0, end = linear ? total - 1 : total;
    size_t from = first > least ? std::max(least, first - std::min(first, elision)) : first;
    size_t to = last + 1 < end ? std::min(end - 1, last + std::min(elision, total)) : last;
    size_t label_width = 5, count_width = std::to_string(most).size();
    for (size_t i = from; i <= to; i++)
        label_width = std::max(label_width, label(needs, i).size());
    std::string out = fmt::format("{:>{}} |{:-<{}} count\n", "value", label_width, "", bar_width);
    for (size_t i = from; i <= to; i++) {
        // A long run of empty rows in the middle is one `~`.
        size_t run = i;
        while (run <= to && counts[run] == 0)
            run++;
        size_t empty = run - i;
        if (empty > 2 * std::min(elision, total) && i > from && i >= first && run <= last) {
            for (size_t k = 0; k < elision; k++)
                out += fmt::format("{:>{}} |{:<{}} {:>{}}\n", label(needs, i + k), label_width, "", bar_width, 0,
                                   count_width);
            out += fmt::format("{:>{}} ~\n", "", label_width);
            i = run - elision;
        }
        out += fmt::format("{:>{}} |{:<{}} {:>{}}\n", label(needs, i), label_width,
                           std::string(static_cast<size_t>(counts[i] / scale), '@'), bar_width, counts[i], count_width);
    }
    return out + "\n";
}

} // namespace sonde
