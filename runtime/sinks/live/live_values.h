// The data of the --live screen: the values of the script's globals at one moment, and their rates of change.
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

// The value of a global or an element at one moment. For a statistic, `number` is its count.
struct LiveValue {
    int64_t number = 0;
    std::string text;         // of a string
    plan::StatsBlock block{}; // of a statistic
    std::vector<uint64_t> buckets;
    bool has_range = false;   // the minimum and maximum are valid: the statistic has values and was not reset
    double rate = 0;          // growth of `number` per second since the previous update
    std::deque<double> rates; // recent rates, the oldest first
};

// One element of an array, or a scalar.
struct LiveRow {
    std::string key, payload; // as bytes in the layout of runtime/plan/data.h; of a scalar, the key is empty
    LiveValue value;
};

// A global.
struct LiveTable {
    size_t global = 0; // index into Plan::globals
    std::string name;
    plan::Value type = plan::Value::Long;
    plan::StatsNeeds stats;
    bool has_stack = false;
    bool prints_as_pointer = false;
    std::vector<std::string> keys; // names of the key's components; empty: a scalar, which has one row
    std::vector<LiveRow> rows;

    bool is_scalar() const { return keys.empty(); }
    // Returns the elements, in order of insertion, as of the last update.
    std::vector<ArrayElement> elements() const;
};

// All globals at one moment.
struct LivePicture {
    int64_t time_ns = 0, began_ns = 0; // monotonic clock
    uint64_t errors = 0, skipped = 0, lost = 0;
    std::vector<LiveTable> tables; // in the order of the script
};

// Reads the globals of a session repeatedly.
class LiveTables {
  public:
    explicit LiveTables(SessionData& data);

    // Reads the current values. The reference is valid until the next look().
    const LivePicture& look();
    const LivePicture& picture() const { return picture_; }
    // Returns the components of a row's key as texts. A stack is shortened to its innermost functions.
    const std::vector<std::string>& describe(const LiveTable& table, const LiveRow& row);
    // Empties an array, or sets a scalar to its initial value. A scalar statistic cannot be reset while handlers add to
    // it, so its old values are subtracted from what is shown.
    void reset(size_t global);

  private:
    // Reads one global.
    LiveTable look_at(size_t global);
    // Computes the rate of a row. `seconds`: the time since the previous update.
    void follow(size_t global, LiveRow& row, double seconds);
    // Decodes a value.
    LiveValue value_of(const plan::Global& global, const char* payload) const;
    // Returns the records that did not fit into the ring buffer so far.
    uint64_t lost_records() const;

    // The history of a row.
    struct Followed {
        int64_t number = 0;
        std::deque<double> rates;
        uint64_t seen = 0; // number of the last update that had this element
    };
    SessionData& data_;
    LivePicture picture_;
    uint64_t looks_ = 0;
    std::map<std::pair<size_t, std::string>, Followed> followed_;
    std::map<std::pair<size_t, std::string>, std::vector<std::string>> described_;
    std::map<size_t, Statistic> reset_at_; // scalar statistics: their values at the time of the reset
};

} // namespace sonde
