// The settings of --otlp.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/sinks/http/poster.h"
#include "runtime/sinks/http/target.h"
#include "runtime/sinks/metrics/otlp_numbers.h"

namespace sonde {

struct OtlpRequest {
    HttpTarget target;      // without the path; an empty host means that --otlp is not given
    HttpSettings settings;  // --otlp-header, --tls-ca
    std::string service;    // --otlp-service; empty: derived from the script's name
    double interval_s = 10; // --otlp-interval
    bool has_signal[otlp_signal_count] = {true, true, false}; // --otlp-only
    bool is_delta = false;                                    // --otlp-temporality
    bool has_exponential = false;                             // --otlp-histograms
    uint64_t series = 10000;                                  // --metrics-series

    bool wanted() const { return !target.host.empty(); }
    bool wants(OtlpSignal signal) const { return wanted() && has_signal[signal]; }
};

// 4318 is the port that IANA assigned to OTLP over HTTP.
constexpr HttpOption otlp_option{"--otlp", "http://127.0.0.1:4318", 4318, false, "/v1/metrics /v1/logs /v1/traces"};

} // namespace sonde
