// Metrics in the sense of monitoring systems: families of series, each with a name, labels and numbers. They are made
// from a picture of the session (picture.h), and converted to text (open_metrics.h) or to OTLP messages (otlp.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/sinks/metrics/picture.h"

namespace sonde {

enum class MetricKind : uint8_t { Gauge, Counter, Histogram, Info };

// One series at one moment.
struct MetricPoint {
    std::vector<std::string> labels; // the values, in the order of MetricFamily::labels
    int64_t number = 0;
    double real = 0; // the value, in families with is_real
    // Of a histogram: for each bound the number of values up to it (cumulative, lowest bound first), the number of all
    // values, and their sum.
    std::vector<std::pair<int64_t, uint64_t>> buckets;
    uint64_t count = 0;
    int64_t sum = 0;
};

// All series with one name.
struct MetricFamily {
    std::string name; // without suffixes such as `_total`
    std::string help, unit;
    MetricKind kind = MetricKind::Gauge;
    bool is_real = false;
    bool is_cut = false;     // some series were omitted because of a limit
    bool is_by_twos = false; // of a histogram: all bounds are 0 or belong to powers of two
    std::vector<std::string> labels;
    std::vector<MetricPoint> points;
};

// The properties of a plan's metrics that never change: unique names and labels.
struct MetricNames {
    struct Of {
        std::string name;
        std::vector<std::string> labels;
        MetricKind kind = MetricKind::Gauge;
        std::string not_served; // why the global is not a metric; empty: it is one
    };
    std::vector<Of> globals; // by global
};
MetricNames name_metrics(const plan::Plan& plan);

// The number of series that a global would have without a limit.
struct FamilyDemand {
    uint64_t series = 0;
    bool is_array = false;
};
// Returns how many series each global may have. Arrays share what scalars leave of `most`.
std::vector<uint64_t> share_out(const std::vector<FamilyDemand>& wanted, uint64_t most);

// Returns the families of the script's globals in their order, then the session's own families (sonde_...). The script
// has at most `most_series` series, distributed by share_out(). One of the session's families reports the number of
// omitted series for each global.
std::vector<MetricFamily> make_families(const plan::Plan& plan, const MetricNames& names, const MetricsPicture& picture,
                                        uint64_t most_series);

// Returns `text` as a valid metric name: letters, digits and `_`, not beginning with a digit. Returns `otherwise` if
// nothing remains.
std::string metric_name(const std::string& text, const std::string& otherwise);
// The same for the name of a label, which must not begin with `__` either.
std::string label_name(const std::string& text, const std::string& otherwise);

} // namespace sonde
