// Metrics and lines of text as OTLP's messages (opentelemetry-proto v1, bodies of requests to /v1/metrics and
// /v1/logs).
//
// A family is a metric: a counter is a Sum that only grows, a histogram a Histogram, whatever else a Gauge. All are
// cumulative since the session's beginning: what one push misses, the next one has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/metrics/families.h"

namespace sonde {

// Who sends.
struct OtlpResource {
    std::string host, service;
    int64_t process = 0;
};

// What was printed.
struct OtlpLine {
    int64_t time_ns = 0; // since 1970
    std::string text;    // without its end
};

std::string otlp_metrics(const OtlpResource& resource, const std::vector<MetricFamily>& families, int64_t began_ns,
                         int64_t time_ns);
std::string otlp_logs(const OtlpResource& resource, const std::vector<OtlpLine>& lines);

} // namespace sonde
