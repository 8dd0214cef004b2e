#include "runtime/sinks/metrics/request.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace sonde {

Result<MetricsRequest> parse_metrics_address(const std::string& text) {
    const auto wrong = [&](const std::string& why) {
        return Error(fmt::format("--metrics {}: {}; expected ADDRESS:PORT, [ADDRESS]:PORT or :PORT, as in "
                                 "--metrics=127.0.0.1:9435",
                                 text, why));
    };
    MetricsRequest out;
    const size_t colon = text.rfind(':');
    out.host = colon == std::string::npos ? "" : text.substr(0, colon);
    out.port = colon == std::string::npos ? text : text.substr(colon + 1);
    if (out.host.starts_with('[') != out.host.ends_with(']') || out.host == "[]")
        return wrong("a bracket has no partner");
    if (out.host.starts_with('['))
        out.host = out.host.substr(1, out.host.size() - 2);
    else if (out.host.find(':') != std::string::npos)
        return wrong("write an IPv6 address in brackets");
    const bool digits = !out.port.empty() && out.port.size() <= 5 &&
                        std::ranges::all_of(out.port, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || std::atoi(out.port.c_str()) > 65535)
        return wrong(fmt::format("`{}` is not a port from 0 to 65535", out.port));
    if (out.host.empty())
        out.host = "127.0.0.1";
    return out;
}

Result<void> set_metrics_tls(MetricsRequest& request, const std::string& text) {
    const size_t comma = text.find(',');
    const std::string key = comma == std::string::npos ? "" : text.substr(comma + 1);
    if (comma == 0 || key.empty() || key.find(',') != std::string::npos)
        return Error(fmt::format("--metrics-tls {}: expected two files, CERTIFICATE,KEY, as in "
                                 "--metrics-tls=/etc/sonde/tls.crt,/etc/sonde/tls.key",
                                 text));
    request.certificate_file = text.substr(0, comma);
    request.key_file = key;
    return {};
}

} // namespace sonde
