// --heatmap: how the values of a statistic were distributed, over time: a column for each interval, a row for each
// range of values, and the darker the more values.
//
// The script stays as it is: the session looks at the statistic while it runs, and what has come since the last look
// goes into that interval's column. It begins with short intervals; when there are too many columns, two become one, so
// that a session of a second and one of a day both have between 120 and 240. No interval has to be chosen.
//
// A session that gets no processor looks late. What has come meanwhile is spread over the intervals that it missed, and
// a mark under these columns says that it is not known when in that time it came.
//
// Values that are deleted are counted before: the session looks, too, before a timer's handler runs. An element whose
// counts have gone down has begun anew.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class Heatmap {
  public:
    Heatmap(const plan::Plan& plan, size_t global);
    size_t global() const { return global_; }

    // Nanoseconds until the current column ends.
    int64_t until_look(int64_t now) const;
    // What is in the statistic now. A scalar is one element without a key.
    void look(int64_t now, const std::vector<ArrayElement>& elements);

    uint64_t values() const; // how many it has seen
    // For a terminal: the map, and for an array how many values the elements with the most got over time.
    std::string text() const;
    std::string svg() const;
    std::string html() const;

  private:
    using Counts = std::map<int32_t, uint64_t>; // by bucket; from the smallest values to the largest
    struct Element {
        uint64_t count = 0;
        Counts buckets;               // as they were at the last look
        std::vector<uint64_t> values; // new ones in each column
        uint64_t seen = 0;            // the number of the look that saw it last
    };
    struct Row {
        int32_t first = 0, last = 0; // buckets
    };
    // What is drawn: rows from the smallest values on, and a count for each column and row.
    struct Grid {
        std::vector<Row> rows;
        std::vector<std::vector<uint64_t>> columns;
        std::vector<std::pair<int32_t, int32_t>> percentiles; // rows of a column's 50 and 99 %; -1: it is empty
        uint64_t most = 0;
        double column_s = 0;
        std::vector<bool> late; // a column of which something was spread
    };

    int32_t first_bucket() const;
    std::string low_of(int32_t bucket) const;
    std::string range_of(const Row& row) const;
    Counts counts_of(const ArrayElement& element) const;
    void halve();
    size_t column_at(int64_t time) const;
    Grid grid(size_t most_rows, size_t most_columns) const;
    std::string title() const;
    std::string key_of(const std::string& key) const;
    std::string sparklines(size_t columns) const;

    const plan::Plan& plan_;
    const size_t global_;
    const plan::StatsNeeds& needs_;
    enum class Source : uint8_t { Histogram, Quantiles } source_;
    int64_t began_ = 0, looked_ = 0, interval_;
    uint64_t looks_ = 0;
    std::vector<Counts> columns_;
    std::vector<bool> late_;                  // a column that was looked at together with others
    std::map<std::string, Element> elements_; // by key
};

} // namespace sonde
