// What --otlp asks for.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

struct OtlpRequest {
    std::string host; // a name or an address, IPv6 without brackets; empty: the request has none, and no pushes
    uint16_t port = 0;
    std::string path;        // before /v1/metrics; begins with /, or is empty
    std::string service;     // --otlp-service; empty: the script's name
    double interval_s = 10;  // --otlp-interval
    bool has_metrics = true; // --otlp-only
    bool has_logs = true;
    uint64_t series = 10000; // --metrics-series

    bool wanted() const { return !host.empty(); }
    bool wants_metrics() const { return wanted() && has_metrics; }
    // As the Host header has it.
    std::string host_and_port() const;
};

// `http://HOST[:PORT][/PATH]`; without a port it is OTLP's own, 4318. Errors: what is wrong with it.
Result<OtlpRequest> parse_otlp_url(const std::string& text);

} // namespace sonde
