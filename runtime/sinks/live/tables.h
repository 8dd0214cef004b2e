// What a live screen shows: the script's globals as they are at one moment, with how fast they change.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/values/array_values.h"

namespace sonde {

struct SessionData;

// A value at one moment. Of a statistic, `number` is how many values it has.
struct LiveValue {
    int64_t number = 0;
    std::string text;         // of a string
    plan::StatsBlock block{}; // of a statistic
    std::vector<uint64_t> buckets;
    bool has_range = false;   // a statistic's least and largest value are known: there is one, and it was not reset
    double rate = 0;          // by how much `number` grew in a second, since the picture before
    std::deque<double> rates; // the last of these, the oldest first
};

struct LiveRow {
    std::string key, payload; // as the array has them; of a scalar its place in the data area
    LiveValue value;
};

struct LiveTable {
    size_t global = 0; // its index
    std::string name;
    plan::Value type = plan::Value::Long;
    plan::StatsNeeds stats;
    bool has_stack = false;
    bool prints_as_pointer = false;
    std::vector<std::string> keys; // their names; empty: a scalar, with one row
    std::vector<LiveRow> rows;

    bool is_scalar() const { return keys.empty(); }
    // The array's elements, in order of insertion, as they were when it was looked at.
    std::vector<ArrayElement> elements() const;
};

struct LivePicture {
    int64_t time_ns = 0, began_ns = 0; // of the monotonic clock
    uint64_t errors = 0, skipped = 0, lost = 0;
    std::vector<LiveTable> tables; // in the order of the script
};

// Looks at a session's globals again and again.
class LiveTables {
  public:
    explicit LiveTables(SessionData& data);

    // How it is now.
    const LivePicture& look();
    const LivePicture& picture() const { return picture_; }
    // A row's key as texts, one for each component; a stack as its innermost functions.
    const std::vector<std::string>& describe(const LiveTable& table, const LiveRow& row);
    // Empties an array; sets a scalar to what it was at the beginning. Scalar statistics go on in the script, and are
    // shown without what they had.
    void reset(size_t global);

  private:
    LiveTable look_at(size_t global);
    void follow(size_t global, LiveRow& row, double seconds);
    LiveValue value_of(const plan::Global& global, const char* payload) const;
    uint64_t lost_records() const;

    struct Followed {
        int64_t number = 0;
        std::deque<double> rates;
        uint64_t seen = 0; // the look that saw it last
    };
    SessionData& data_;
    LivePicture picture_;
    uint64_t looks_ = 0;
    std::map<std::pair<size_t, std::string>, Followed> followed_;
    std::map<std::pair<size_t, std::string>, std::vector<std::string>> described_;
    std::map<size_t, Statistic> reset_at_; // scalar statistics: what they had
};

} // namespace sonde
