// Metrics, lines of text and calls as OTLP's messages (opentelemetry-proto v1, bodies of requests to /v1/metrics,
// /v1/logs and /v1/traces).
//
// A family is a metric: a counter is a Sum that only grows, a histogram a Histogram or an ExponentialHistogram,
// whatever else a Gauge. They are cumulative since the session's beginning: what one push misses, the next one has. Or
// they are what came since another picture (otlp_delta.h).
//
// Exponential histograms of scale 0 have buckets (2^i, 2^(i+1)], the script's have [2^k, 2^(k+1)), of integers. The
// bucket of 1 holds nothing else, and 1 is in (1/2, 1]: it is bucket -1 there, exactly. Bucket k from 1 on is bucket k
// there: all of its values are in (2^k, 2^(k+1)] but 2^k itself, which lies on the bound. So no value is outside of its
// bucket's closed interval, which is all that a reader can tell from it: a quantile is wrong by no more than it would
// be anyhow. (Bucket k - 1 would take in 2^k, and nothing else of the bucket.) Zeros have a count of their own,
// negative values their own buckets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/sinks/metrics/families.h"

namespace sonde {

// Who sends.
struct OtlpResource {
    std::string host, service;
    int64_t process = 0;
};

// Which span something belongs to.
struct OtlpSpanId {
    std::array<uint64_t, 2> trace{}; // one for each outermost call
    uint64_t id = 0;                 // 0: to none
};

// What was printed.
struct OtlpLine {
    int64_t time_ns = 0; // since 1970
    std::string text;    // without its end
    OtlpSpanId within;   // the call whose handler began the line
};
inline size_t cost_of(const OtlpLine& line) { return line.text.size() + 64; }

// A call that has ended.
struct OtlpValue {
    std::string name;
    bool is_text = false;
    int64_t number = 0;
    std::string text;
};
struct OtlpSpan {
    std::array<uint64_t, 2> trace{}; // one for each outermost call
    uint64_t id = 0, parent = 0;     // 0: it is the outermost one
    std::string name;
    int64_t begin_ns = 0, end_ns = 0; // since 1970
    int64_t pid = 0, tid = 0;
    std::string process, thread; // what they are called
    std::vector<OtlpValue> values;
    uint32_t values_left_out = 0;
    bool is_return_unseen = false; // it ends when what is known of it ends
};
size_t cost_of(const OtlpSpan& span);

struct OtlpTimes {
    int64_t began_ns = 0, time_ns = 0; // since 1970
    bool is_delta = false;             // the numbers are those from began_ns on, and not since the session's beginning
    bool has_exponential = false;      // histograms by powers of two are exponential ones
};
std::string otlp_metrics(const OtlpResource& resource, const std::vector<MetricFamily>& families,
                         const OtlpTimes& times);
std::string otlp_logs(const OtlpResource& resource, const std::vector<OtlpLine>& lines);
std::string otlp_traces(const OtlpResource& resource, const std::vector<OtlpSpan>& spans);

// What a collector that took a request says of it: how many points, lines or spans it did not take, and why; without a
// count it is advice.
struct OtlpRejection {
    uint64_t count = 0;
    std::string why;
};
OtlpRejection otlp_rejection(const std::string& answer);
// Why a collector refused a request, by its answer: a google.rpc.Status, or a line of text. Empty: it does not say.
std::string otlp_refusal(const std::string& answer);

} // namespace sonde
