// Encodes metrics, lines of text and calls as OTLP messages (opentelemetry-proto v1). Each function returns the body of
// a request to /v1/metrics, /v1/logs or /v1/traces.
//
// A family becomes an OTLP metric. A counter becomes a monotonic Sum, a histogram a Histogram or an
// ExponentialHistogram, and everything else a Gauge. Values are cumulative since the session's start, so the next push
// makes up for a failed one. Alternatively, they are deltas (otlp_delta.h).
//
// Exponential histograms need an explanation, because the bounds differ. OTLP buckets of scale 0 are (2^i, 2^(i+1)],
// and the script's buckets are [2^k, 2^(k+1)), for integers:
//
//     script's bucket    values      OTLP bucket    range
//     [1, 2)             1           -1             (1/2, 1]
//     [2, 4)             2, 3         1             (2, 4]
//     [4, 8)             4 to 7       2             (4, 8]
//
// Bucket 1 is exact. For the others, index k is right for all values except the lowest one, 2^k, which lies on the
// bound. So every value is in the closed interval of its bucket, and a reader cannot resolve more than that: quantiles
// are as accurate as with exact bounds. (Index k - 1 would contain 2^k, but none of the bucket's other values.) Zero
// has its own count, and negative values have their own buckets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/sinks/metrics/families.h"

namespace sonde {

// The sender of a message.
struct OtlpResource {
    std::string host, service;
    int64_t process = 0;
};

// Identifies a span.
struct OtlpSpanId {
    std::array<uint64_t, 2> trace{}; // shared by all calls within one outermost call
    uint64_t id = 0;                 // 0: no span
};

// A line of the script's output.
struct OtlpLine {
    int64_t time_ns = 0; // since 1970
    std::string text;    // without the newline
    OtlpSpanId within;   // the call whose handler printed the begin of the line
};
inline size_t cost_of(const OtlpLine& line) { return line.text.size() + 64; }

// A named value that becomes an attribute of a span.
struct OtlpValue {
    std::string name;
    bool is_text = false;
    int64_t number = 0;
    std::string text;
};
// A call that has ended.
struct OtlpSpan {
    std::array<uint64_t, 2> trace{}; // shared by all calls within one outermost call
    uint64_t id = 0, parent = 0;     // parent 0: an outermost call
    std::string name;
    int64_t begin_ns = 0, end_ns = 0; // since 1970
    int64_t pid = 0, tid = 0;
    std::string process, thread; // their names
    std::vector<OtlpValue> values;
    uint32_t values_left_out = 0;
    bool is_return_unseen = false; // the return was not seen; the end is only an estimate
};
// Returns the approximate size in bytes, for the limit of the queue.
size_t cost_of(const OtlpSpan& span);

struct OtlpTimes {
    int64_t began_ns = 0, time_ns = 0; // since 1970
    bool is_delta = false;             // the numbers are those since began_ns, not since the session's start
    bool has_exponential = false;      // histograms with powers of two are encoded as ExponentialHistogram
};
std::string otlp_metrics(const OtlpResource& resource, const std::vector<MetricFamily>& families,
                         const OtlpTimes& times);
std::string otlp_logs(const OtlpResource& resource, const std::vector<OtlpLine>& lines);
std::string otlp_traces(const OtlpResource& resource, const std::vector<OtlpSpan>& spans);

// The partial success in an answer: how many points, lines or spans the collector rejected, and why. If the count is 0,
// the text is advice.
struct OtlpRejection {
    uint64_t count = 0;
    std::string why;
};
OtlpRejection otlp_rejection(const std::string& answer);
// Returns why a collector has refused a request. The answer is a google.rpc.Status or a line of text. Returns "" if it
// has no reason.
std::string otlp_refusal(const std::string& answer);

} // namespace sonde
