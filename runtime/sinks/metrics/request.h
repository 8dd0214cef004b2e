// What --metrics asks for.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

struct MetricsRequest {
    std::string host;       // a name or an address, IPv6 without brackets; empty: the request has none, and no server
    std::string port;       // a number
    std::string token_file; // --metrics-token-file; empty: everybody may read
    std::string certificate_file, key_file; // --metrics-tls; empty: no TLS
    uint64_t series = 10000;                // --metrics-series: of the script's own, at most

    bool wanted() const { return !port.empty(); }
};

// `ADDRESS:PORT`, `[ADDRESS]:PORT`, `:PORT` or `PORT`; without an address it is this machine's own, 127.0.0.1. Errors:
// what is wrong with it.
Result<MetricsRequest> parse_metrics_address(const std::string& text);

// `CERTIFICATE,KEY`, two files. Errors: there are not two.
Result<void> set_metrics_tls(MetricsRequest& request, const std::string& text);

} // namespace sonde
