// The settings of --metrics.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

struct MetricsRequest {
    std::string host;                       // name or address, IPv6 without brackets
    std::string port;                       // a number; empty: --metrics is not given
    std::string token_file;                 // --metrics-token-file; empty: no token is required
    std::string certificate_file, key_file; // --metrics-tls; empty: no TLS
    uint64_t series = 10000;                // --metrics-series: limit for the script's series

    bool wanted() const { return !port.empty(); }
};

// Parses `ADDRESS:PORT`, `[ADDRESS]:PORT`, `:PORT` or `PORT`. The default address is 127.0.0.1. Returns an error
// message for other texts.
Result<MetricsRequest> parse_metrics_address(const std::string& text);

// Parses `CERTIFICATE,KEY`, the names of two files.
Result<void> set_metrics_tls(MetricsRequest& request, const std::string& text);

} // namespace sonde
