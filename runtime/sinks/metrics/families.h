// What monitoring systems call metrics: families of series, each with a name, labels and numbers. Made of a session's
// picture; texts (open_metrics.h) are made of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/sinks/metrics/picture.h"

namespace sonde {

enum class MetricKind : uint8_t { Gauge, Counter, Histogram, Info };

struct MetricPoint {
    std::vector<std::string> labels; // the values, in the order of MetricFamily::labels
    int64_t number = 0;
    double real = 0; // of families with is_real
    // Histogram: how many values are up to that bound, bounds from the lowest; all of them; their sum.
    std::vector<std::pair<int64_t, uint64_t>> buckets;
    uint64_t count = 0;
    int64_t sum = 0;
};

struct MetricFamily {
    std::string name; // without `_total` and its like
    std::string help, unit;
    MetricKind kind = MetricKind::Gauge;
    bool is_real = false;
    bool is_cut = false;     // some of its series are left out
    bool is_by_twos = false; // Histogram: its bounds are 0 and, on either side, those of powers of two
    std::vector<std::string> labels;
    std::vector<MetricPoint> points;
};

// What is true of a plan's metrics at all times: names and labels, free of clashes.
struct MetricNames {
    struct Of {
        std::string name;
        std::vector<std::string> labels;
        MetricKind kind = MetricKind::Gauge;
        std::string not_served; // why it is none; empty: it is one
    };
    std::vector<Of> globals; // by global
};
MetricNames name_metrics(const plan::Plan& plan);

// How many series a global would have, and whether it is an array.
struct FamilyDemand {
    uint64_t series = 0;
    bool is_array = false;
};
// How many of these each may have, so that arrays have no more than `most` together with what is no array.
std::vector<uint64_t> share_out(const std::vector<FamilyDemand>& wanted, uint64_t most);

// The script's globals, in their order, then the session's own numbers (sonde_...). At most `most_series` of the
// script's, shared out by share_out(); how many there are more is one of the own numbers, by global.
std::vector<MetricFamily> make_families(const plan::Plan& plan, const MetricNames& names, const MetricsPicture& picture,
                                        uint64_t most_series);

// A name of letters, digits and _, beginning with none of the digits; `otherwise` where nothing is left of it.
std::string metric_name(const std::string& text, const std::string& otherwise);
// The same for labels, which also do not begin with __.
std::string label_name(const std::string& text, const std::string& otherwise);

} // namespace sonde
