// --heatmap: the distribution of a statistic's values over time. The picture has a column for each time interval and a
// row for each range of values. Darker cells have more values.
//
// The script does not change. The session reads the statistic repeatedly, and the growth since the last reading belongs
// to the current column. heatmap.cc describes the algorithm.
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
    // `global` is the index of a statistic, or of an array of statistics. It must keep its distribution
    // (keeps_distribution). The picture begins at `now`, as of look().
    Heatmap(const plan::Plan& plan, size_t global, int64_t now);
    size_t global() const { return global_; }

    // Returns the nanoseconds until the current column ends.
    int64_t until_look(int64_t now) const;
    // Records the current state of the statistic. A scalar is a single element without a key. `now` is now_ns(), and
    // must not decrease.
    void look(int64_t now, const std::vector<ArrayElement>& elements);

    uint64_t values() const; // number of recorded values
    // Returns a picture for a terminal. For an array, also shows the busiest elements over time.
    std::string text() const;
    std::string svg() const;
    std::string html() const;

  private:
    using Counts = std::map<int32_t, uint64_t>; // by bucket, sorted by value
    // An element of the array, or the scalar.
    struct Element {
        uint64_t count = 0;
        Counts buckets;               // the counts at the last reading
        std::vector<uint64_t> values; // number of new values in each column
        uint64_t seen = 0;            // number of the last reading that had this element
    };
    // A row of the picture: a range of buckets.
    struct Row {
        int32_t first = 0, last = 0; // buckets
    };
    // The picture before drawing: rows from the smallest values up, and a count for each column and row.
    struct Grid {
        std::vector<Row> rows;
        std::vector<std::vector<uint64_t>> columns;
        // For each column, the rows of its 50th and 99th percentile; -1: no values.
        std::vector<std::pair<int32_t, int32_t>> percentiles;
        uint64_t most = 0;
        double column_s = 0;
        std::vector<bool> late; // columns with values that were spread
    };

    // The number of the first bucket, and the bounds of buckets and rows as text.
    int32_t first_bucket() const;
    std::string low_of(int32_t bucket) const;
    std::string range_of(const Row& row) const;
    // Returns the current counts of an element.
    Counts counts_of(const ArrayElement& element) const;
    // Merges pairs of columns and doubles the interval.
    void halve();
    // Returns the column of a time, in the current interval.
    size_t column_at(int64_t time) const;
    // Reduces the data to the size of a picture.
    Grid grid(size_t most_rows, size_t most_columns) const;
    std::string title() const;
    std::string key_of(const std::string& key) const;
    std::string sparklines(size_t columns) const;

    const plan::Plan& plan_;
    const size_t global_;
    const plan::StatsNeeds& needs_;
    // The buckets that are read: those of the script's histogram, or those for percentiles.
    enum class Source : uint8_t { Histogram, Quantiles } source_;
    int64_t began_ = 0, looked_ = 0, interval_;
    uint64_t looks_ = 0;
    // The recorded values: for each column, the number of new values in each bucket.
    std::vector<Counts> columns_;
    std::vector<bool> late_;                  // columns that were read together with others
    std::map<std::string, Element> elements_; // by key
};

} // namespace sonde
