// How a heat map records values without changes to the script.
//
// The problem: the script adds values with `s <<< x`, and handlers do not store when. The idea: a statistic keeps a
// count for each bucket, and counts only grow. So the session reads the buckets at the end of each interval. The
// difference to the last reading is the distribution of this interval:
//
//     bucket      reading 1   reading 2   column 2
//     [4, 8)      10          13          3
//     [8, 16)     2           2           0
//     [16, 32)    0           1           1
//
// The length of an interval. It starts at 20 ms. When the map reaches 240 columns, halve() merges each pair of columns
// and doubles the interval. So any session that is longer than a few seconds has between 120 and 240 columns, and the
// user need not choose an interval. The interval also doubles if a reading takes more than a tenth of it, which happens
// with large arrays.
//
// Two situations would produce a wrong picture:
// * The session gets no processor for some time. One reading then covers several columns. look() spreads the new values
//   evenly over them and marks the columns as late, because their true times are unknown. Without the spread, the
//   picture would show a peak that never happened.
// * A script deletes or resets elements. A count that has decreased means that the element has started again, so all
//   its values are new. To keep the values before the deletion, the session also reads just before a host handler runs
//   (Sink::turn). Values that a kernel handler adds and deletes between two readings are lost.
//
// The buckets are those of the script's linear histogram, if it has one. Otherwise they are the buckets for
// percentiles, which are finer than those of a logarithmic histogram.
#include "runtime/sinks/pictures/heatmap.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/bars.h"
#include "base/clock.h"
#include "base/terminal_text.h"
#include "runtime/sinks/pictures/page.h"
#include "runtime/sinks/pictures/xml.h"
#include "runtime/values/array_values.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

constexpr size_t most_columns = 240;
constexpr int64_t shortest_ns = 20'000'000; // the first interval
constexpr int64_t share_of_time = 10;       // if a reading takes more than 1/10 of an interval, the interval doubles
constexpr size_t text_columns = 60, text_rows = 20, most_keys = 10;
constexpr size_t picture_rows = 64;
constexpr const char* spread = "sonde read these values late, and has spread them over the interval";

// The size of the picture in pixels.
constexpr double least_left = 110, top = 54, right = 24, bottom = 44, page_width = 1200, page_rows = 520;

// One hue from light to dark. The order is also visible in print and to color-blind readers.
constexpr uint32_t shades[] = {0xdeebf7, 0xc6dbef, 0x9ecae1, 0x6baed6, 0x4292c6, 0x2171b5, 0x08519c, 0x08306b};
constexpr const char* blocks[] = {"░", "▒", "▓", "█"};

// Maps a count to one of `steps` shades. The scale is logarithmic, since counts differ by orders of magnitude.
size_t step_of(uint64_t count, uint64_t most, size_t steps) {
    if (most <= 1)
        return steps - 1;
    const double part = std::log(static_cast<double>(count)) / std::log(static_cast<double>(most));
    return std::min(steps - 1, static_cast<size_t>(part * static_cast<double>(steps)));
}

// Returns a key as a label of at most `most` bytes, cut between characters.
std::string in_one_line(std::string_view key, size_t most) {
    std::string out;
    for (const char c : terminal_text(key))
        out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
    if (out.size() <= most)
        return out;
    while (most > 0 && (static_cast<unsigned char>(out[most]) & 0xc0) == 0x80)
        most--;
    return out.substr(0, most);
}

std::string seconds(double s) { return s < 10 ? fmt::format("{:.2f} s", s) : fmt::format("{:.0f} s", s); }

} // namespace

Heatmap::Heatmap(const plan::Plan& plan, size_t global, int64_t now)
    : plan_(plan), global_(global), needs_(plan.globals[global].stats),
      source_(needs_.histogram == plan::StatsNeeds::Linear || !needs_.quantiles ? Source::Histogram
                                                                                : Source::Quantiles),
      began_(now), looked_(began_), interval_(shortest_ns) {}

// Numbers buckets so that 0 is the bucket of the value 0, except in linear histograms.
int32_t Heatmap::first_bucket() const {
    constexpr int32_t log_zero = 64;
    return source_ == Source::Quantiles                ? -int32_t{SONDE_QUANTILE_HALF}
           : needs_.histogram == plan::StatsNeeds::Log ? -log_zero
                                                       : 0;
}

// Returns the lower bound of a bucket as text.
std::string Heatmap::low_of(int32_t bucket) const {
    if (source_ == Source::Quantiles) {
        const auto step = static_cast<uint64_t>(std::abs(bucket));
        uint64_t low = sonde_quantile_low(step) + (bucket < 0 ? sonde_quantile_width(step) - 1 : 0);
        if (bucket < 0) // the last negative bucket would extend beyond INT64_MIN
            low = std::min(low, uint64_t{1} << 63);
        return (bucket < 0 ? "-" : "") + std::to_string(low);
    }
    const BucketBounds bounds = bucket_bounds(needs_, static_cast<uint32_t>(bucket - first_bucket()));
    return bounds.low ? std::to_string(*bounds.low) : fmt::format("<{}", needs_.low);
}

// Returns the range of a row as text, for its tooltip.
std::string Heatmap::range_of(const Row& row) const {
    const std::string low = low_of(row.first);
    std::string high;
    if (source_ == Source::Quantiles) {
        const auto step = static_cast<uint64_t>(std::abs(row.last));
        high = (row.last < 0 ? "-" : "") +
               std::to_string(sonde_quantile_low(step) + (row.last < 0 ? 0 : sonde_quantile_width(step) - 1));
    } else {
        const auto bounds_of = [&](int32_t bucket) {
            return bucket_bounds(needs_, static_cast<uint32_t>(bucket - first_bucket()));
        };
        const std::optional<int64_t> most = bounds_of(row.last).high;
        if (!most)
            return low + " or more";
        high = std::to_string(*most);
        if (!bounds_of(row.first).low)
            return "up to " + high;
    }
    return low == high ? low : fmt::format("{} to {}", low, high);
}

// Returns the non-empty buckets of an element.
Heatmap::Counts Heatmap::counts_of(const ArrayElement& element) const {
    const Statistic statistic = statistic_of(needs_, element.payload.data());
    const bool is_histogram = source_ == Source::Histogram;
    const size_t from = is_histogram ? 0 : needs_.buckets(),
                 end = is_histogram ? needs_.buckets() : statistic.buckets.size();
    Counts out;
    for (size_t i = from; i < end; i++)
        if (statistic.buckets[i])
            out[static_cast<int32_t>(i - from) + first_bucket()] = statistic.buckets[i];
    return out;
}

size_t Heatmap::column_at(int64_t time) const { return static_cast<size_t>((time - began_) / interval_); }

int64_t Heatmap::until_look(int64_t now) const {
    return std::max<int64_t>(0, began_ + (static_cast<int64_t>(column_at(looked_)) + 1) * interval_ - now);
}

// Merges each pair of columns and doubles the interval.
void Heatmap::halve() {
    for (size_t i = 0; i < columns_.size(); i++) {
        if (i % 2 == 0)
            columns_[i / 2] = i == 0 ? columns_[0] : std::move(columns_[i]);
        else
            for (auto [bucket, count] : columns_[i])
                columns_[i / 2][bucket] += count;
    }
    for (size_t i = 0; i < late_.size(); i++)
        late_[i / 2] = late_[i] || (i % 2 && late_[i / 2]);
    columns_.resize((columns_.size() + 1) / 2);
    late_.resize(columns_.size());
    for (auto& [key, element] : elements_) {
        std::vector<uint64_t>& values = element.values;
        for (size_t i = 0; i < values.size(); i++)
            values[i / 2] = i % 2 ? values[i / 2] + values[i] : values[i];
        values.resize((values.size() + 1) / 2);
    }
    interval_ *= 2;
}

void Heatmap::look(int64_t now, const std::vector<ArrayElement>& elements) {
    const int64_t began = thread_ns();
    // The columns that have ended since the last reading. Usually this is one.
    const auto last_column = [&] { return std::max(column_at(looked_) + 1, column_at(now)) - 1; };
    while (last_column() >= most_columns)
        halve();
    const size_t column = column_at(looked_), columns = last_column() - column + 1;
    columns_.resize(std::max(columns_.size(), column + columns));
    late_.resize(columns_.size());
    looks_++;
    for (const ArrayElement& one : elements) {
        plan::StatsBlock block{};
        std::memcpy(&block, one.payload.data(), std::min(sizeof block, one.payload.size()));
        Element& element = elements_[one.key];
        element.seen = looks_;
        if (block.count == element.count)
            continue;
        Counts now_there = counts_of(one);
        const bool anew = std::ranges::any_of(element.buckets, [&](const auto& before) {
            const auto there = now_there.find(before.first);
            return there == now_there.end() || there->second < before.second;
        });
        if (anew)
            element.buckets.clear();
        element.values.resize(std::max(element.values.size(), column + columns));
        for (auto [bucket, count] : now_there) {
            const auto before = element.buckets.find(bucket);
            const uint64_t more = count - (before == element.buckets.end() ? 0 : before->second);
            if (!more)
                continue;
            if (columns > 1)
                std::fill_n(late_.begin() + static_cast<ptrdiff_t>(column), columns, true);
            for (size_t i = 0; i < columns; i++)
                if (const uint64_t share = more * (i + 1) / columns - more * i / columns) {
                    columns_[column + i][bucket] += share;
                    element.values[column + i] += share;
                }
        }
        element.count = block.count;
        element.buckets = std::move(now_there);
    }
    // An element that was deleted starts at 0 when it returns.
    for (auto& [key, element] : elements_)
        if (element.seen != looks_) {
            element.count = 0;
            element.buckets.clear();
        }
    looked_ = now;
    if ((thread_ns() - began) * share_of_time > interval_)
        halve();
}

uint64_t Heatmap::values() const {
    uint64_t out = 0;
    for (const Counts& column : columns_)
        for (auto [bucket, count] : column)
            out += count;
    return out;
}

// Reduces the map to at most `rows` rows and `columns` columns.
Heatmap::Grid Heatmap::grid(size_t rows, size_t columns) const {
    Grid out;
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (const Counts& column : columns_)
        if (!column.empty()) {
            least = std::min(least, column.begin()->first);
            most = std::max(most, column.rbegin()->first);
        }
    // If there are too many buckets, put 2, 4, 8, ... of them into a row, so that the bounds of rows remain powers of
    // two.
    const auto floor_div = [](int32_t a, int32_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
    int32_t in_row = 1;
    while (std::cmp_greater(floor_div(most, in_row) - floor_div(least, in_row) + 1, rows))
        in_row *= 2;
    const int32_t base = floor_div(least, in_row);
    for (int32_t row = base; row <= floor_div(most, in_row); row++)
        out.rows.push_back({row * in_row, row * in_row + in_row - 1});
    out.rows.front().first = std::max(out.rows.front().first, first_bucket());
    const int32_t end = source_ == Source::Quantiles ? int32_t{SONDE_QUANTILE_HALF}
                                                     : first_bucket() + static_cast<int32_t>(needs_.buckets());
    out.rows.back().last = std::min(out.rows.back().last, end - 1);

    const size_t in_column = (columns_.size() + columns - 1) / columns;
    out.column_s = static_cast<double>(interval_) * static_cast<double>(in_column) / 1e9;
    out.columns.assign((columns_.size() + in_column - 1) / in_column, std::vector<uint64_t>(out.rows.size()));
    out.late.resize(out.columns.size());
    for (size_t i = 0; i < columns_.size(); i++)
        out.late[i / in_column] = out.late[i / in_column] || late_[i];
    for (size_t i = 0; i < columns_.size(); i++)
        for (auto [bucket, count] : columns_[i])
            out.columns[i / in_column][static_cast<size_t>(floor_div(bucket, in_row) - base)] += count;
    for (const std::vector<uint64_t>& column : out.columns) {
        out.most = std::max(out.most, *std::ranges::max_element(column));
        const uint64_t all = std::accumulate(column.begin(), column.end(), uint64_t{0});
        std::pair<int32_t, int32_t> at{-1, -1};
        uint64_t seen = 0;
        for (size_t row = 0; row < column.size() && all; row++) {
            seen += column[row];
            for (auto [place, millionths] : {std::pair(&at.first, 500000), {&at.second, 990000}})
                if (*place < 0 && seen >= sonde_quantile_rank(all, static_cast<uint64_t>(millionths)))
                    *place = static_cast<int32_t>(row);
        }
        out.percentiles.push_back(at);
    }
    return out;
}

std::string Heatmap::title() const {
    std::string out = plan_.globals[global_].name;
    const auto hit = std::ranges::find_if(
        plan_.probes, [](const plan::Probe& probe) { return probe.in_kernel && !probe.points.empty(); });
    return hit == plan_.probes.end() ? out : out + ": " + hit->points[0].pn;
}

std::string Heatmap::key_of(const std::string& key) const {
    std::string out;
    for (const KeyValue& part : key_values(plan_, plan_.globals[global_], {0, key, ""}))
        out += (out.empty() ? "" : ",") + (part.is_text ? part.text : std::to_string(part.number));
    return out;
}

// Returns a line for each of the busiest elements, with the number of its values in each column.
std::string Heatmap::sparklines(size_t columns) const {
    std::vector<std::pair<uint64_t, const std::string*>> sorted;
    for (const auto& [key, element] : elements_)
        if (const uint64_t all = std::accumulate(element.values.begin(), element.values.end(), uint64_t{0}))
            sorted.emplace_back(all, &key);
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(sorted.size(), most_keys); i++)
        names.push_back(in_one_line(key_of(*sorted[i].second), 40));
    size_t widest = 0;
    for (const std::string& name : names)
        widest = std::max(widest, name.size());
    const size_t in_column = (columns_.size() + columns - 1) / columns;
    std::string out;
    for (size_t i = 0; i < names.size(); i++) {
        std::vector<uint64_t> line((columns_.size() + in_column - 1) / in_column);
        const std::vector<uint64_t>& values = elements_.at(*sorted[i].second).values;
        for (size_t at = 0; at < values.size(); at++)
            line[at / in_column] += values[at];
        const uint64_t most = std::max<uint64_t>(1, *std::ranges::max_element(line));
        out += fmt::format("{:>{}}  ", names[i], widest);
        for (uint64_t count : line)
            out += standing_bar(static_cast<double>(count) / static_cast<double>(most));
        out += fmt::format("  {}\n", sorted[i].first);
    }
    if (sorted.size() > names.size())
        out += fmt::format("{:>{}}  and {} more\n", "", widest, sorted.size() - names.size());
    return out;
}

std::string Heatmap::text() const {
    const Grid map = grid(text_rows, text_columns);
    size_t widest = 0;
    for (const Row& row : map.rows)
        widest = std::max(widest, low_of(row.first).size());
    std::string out = fmt::format("{}: {} values, {} a column; ", terminal_text(plan_.globals[global_].name), values(),
                                  seconds(map.column_s));
    for (size_t i = 0; i < std::size(blocks); i++)
        out += blocks[i];
    out += fmt::format(" is 1 to {}\n", map.most);
    for (size_t row = map.rows.size(); row-- > 0;) {
        out += fmt::format("{:>{}} |", low_of(map.rows[row].first), widest);
        for (const std::vector<uint64_t>& column : map.columns)
            out += column[row] ? blocks[step_of(column[row], map.most, std::size(blocks))] : " ";
        out += "|\n";
    }
    if (std::ranges::find(map.late, true) != map.late.end()) {
        out += fmt::format("{:>{}}  ", "", widest);
        for (const bool is_late : map.late)
            out += is_late ? '~' : ' ';
        out += fmt::format("\n{:>{}}  ~ {}\n", "", widest, spread);
    }
    const std::string end = seconds(map.column_s * static_cast<double>(map.columns.size()));
    out += fmt::format("{:>{}}  0 s{:>{}}\n", "", widest, end, std::max(map.columns.size(), end.size() + 4) - 3);
    if (!plan_.globals[global_].keys.empty())
        out += "\n" + sparklines(text_columns);
    return out + "\n";
}

std::string Heatmap::svg() const {
    const Grid map = grid(picture_rows, most_columns);
    size_t widest = 0;
    for (const Row& row : map.rows)
        widest = std::max(widest, low_of(row.first).size());
    const double left = std::max(least_left, 7.0 * static_cast<double>(widest) + 16);
    const double row_height = std::clamp(page_rows / static_cast<double>(map.rows.size()), 4.0, 26.0),
                 column_width = (page_width - left - right) / static_cast<double>(map.columns.size()),
                 height = row_height * static_cast<double>(map.rows.size()), page_height = top + height + bottom;
    const auto x_of = [&](size_t column) { return left + column_width * static_cast<double>(column); };
    const auto y_of = [&](size_t row) { return top + height - row_height * static_cast<double>(row + 1); };
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 {0} {1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        "<text x=\"{2}\" y=\"24\" font-size=\"16\">{3}</text>\n",
        page_width, page_height, left, xml_escaped(title()));
    // The legend: shades and their counts.
    for (size_t i = 0; i < std::size(shades); i++) {
        const double x = page_width - right - 26.0 * static_cast<double>(std::size(shades) - i);
        out += fmt::format("<rect x=\"{:.1f}\" y=\"14\" width=\"26\" height=\"12\" fill=\"#{:06x}\"/>\n", x, shades[i]);
    }
    const double legend = page_width - right - 26.0 * static_cast<double>(std::size(shades));
    out += fmt::format("<text x=\"{:.1f}\" y=\"24\" text-anchor=\"end\">values: 1</text>\n"
                       "<text x=\"{:.1f}\" y=\"40\" text-anchor=\"end\">{}</text>\n"
                       "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#fafafa\" "
                       "stroke=\"#ccc\"/>\n<g shape-rendering=\"crispEdges\">\n",
                       legend - 6, page_width - right, map.most, left, top, page_width - left - right, height);
    for (size_t column = 0; column < map.columns.size(); column++) {
        const std::vector<uint64_t>& counts = map.columns[column];
        const uint64_t all = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
        for (size_t row = 0; row < counts.size(); row++) {
            if (!counts[row])
                continue;
            const double from = map.column_s * static_cast<double>(column);
            out += fmt::format(
                "<rect class=\"cell\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#{:06x}\">"
                "<title>{}: {} of {} values, {:.2f} s to {:.2f} s</title></rect>\n",
                x_of(column), y_of(row), column_width, row_height,
                shades[step_of(counts[row], map.most, std::size(shades))], range_of(map.rows[row]), counts[row], all,
                from, from + map.column_s);
        }
    }
    for (size_t column = 0; column < map.late.size(); column++)
        if (map.late[column])
            out += fmt::format("<rect class=\"late\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"4\" "
                               "fill=\"#999\"><title>{}</title></rect>\n",
                               x_of(column), top + height + 2, column_width, spread);
    out += "</g>\n";
    // Percentiles as lines through the centers of rows, with a gap at columns without values.
    for (const auto& [half, colour, name] : {std::tuple(false, "#e6550d", "p50"), {true, "#a50f15", "p99"}}) {
        std::string path;
        bool is_open = false;
        for (size_t column = 0; column < map.percentiles.size(); column++) {
            const int32_t row = half ? map.percentiles[column].second : map.percentiles[column].first;
            if (row >= 0)
                path += fmt::format("{}{:.1f} {:.1f}{} ", is_open ? "L" : "M", x_of(column) + column_width / 2,
                                    y_of(static_cast<size_t>(row)) + row_height / 2,
                                    is_open ? "" : "h0"); // a dot if the next column has no values
            is_open = row >= 0;
        }
        out += fmt::format("<path class=\"{0}\" d=\"{1}\" fill=\"none\" stroke=\"{2}\" stroke-width=\"1.6\" "
                           "stroke-linecap=\"round\"/>\n<text x=\"{3}\" y=\"42\" fill=\"{2}\">{0}</text>\n",
                           name, path, colour, half ? left + 36 : left);
    }
    // Draw only as many labels as fit.
    const size_t every = static_cast<size_t>(std::ceil(16 / row_height));
    for (size_t row = 0; row < map.rows.size(); row += every)
        out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 8,
                           y_of(row) + row_height, xml_escaped(low_of(map.rows[row].first)));
    constexpr size_t ticks = 6;
    const double whole = map.column_s * static_cast<double>(map.columns.size());
    for (size_t i = 0; i <= ticks; i++) {
        const double part = static_cast<double>(i) / ticks;
        out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                           left + (page_width - left - right) * part, top + height + 20,
                           i == 0       ? "start"
                           : i == ticks ? "end"
                                        : "middle",
                           whole < ticks * 0.05 ? fmt::format("{:.3f} s", whole * part) : seconds(whole * part));
    }
    return out + "</svg>\n";
}

std::string Heatmap::html() const { return html_page(title(), svg()); }

} // namespace sonde
