#include "runtime/metrics/otlp_request.h"

#include <event2/http.h>

#include <cstring>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace sonde {
namespace {

constexpr uint16_t usual_port = 4318; // IANA's, of OTLP over HTTP

std::string text_of(const char* part) { return part ? part : ""; }

} // namespace

std::string OtlpRequest::host_and_port() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<OtlpRequest> parse_otlp_url(const std::string& text) {
    const auto wrong = [&](const std::string& why) {
        return Error(fmt::format("--otlp {}: {}; expected http://HOST[:PORT][/PATH], as in "
                                 "--otlp=http://127.0.0.1:4318",
                                 text, why));
    };
    const std::unique_ptr<evhttp_uri, decltype(&evhttp_uri_free)> uri(evhttp_uri_parse(text.c_str()), evhttp_uri_free);
    const std::string scheme = uri ? text_of(evhttp_uri_get_scheme(uri.get())) : "";
    if (strcasecmp(scheme.c_str(), "https") == 0)
        return wrong("there is no TLS here; let a collector or a proxy on this machine take it by http, and do TLS");
    if (strcasecmp(scheme.c_str(), "http") != 0 || text.find("://") == std::string::npos)
        return wrong(uri && !scheme.empty() && text.find("://") != std::string::npos
                         ? fmt::format("`{}` is no protocol that it has", scheme)
                         : "it is no URL");
    OtlpRequest out;
    out.host = text_of(evhttp_uri_get_host(uri.get()));
    if (out.host.starts_with('[') && out.host.ends_with(']'))
        out.host = out.host.substr(1, out.host.size() - 2);
    if (out.host.empty())
        return wrong("it names no host");
    if (evhttp_uri_get_userinfo(uri.get()))
        return wrong("a name and a password have no place in it");
    if (evhttp_uri_get_query(uri.get()) || evhttp_uri_get_fragment(uri.get()))
        return wrong("nothing can stand after its path");
    const int port = evhttp_uri_get_port(uri.get());
    if (port == 0 || port > UINT16_MAX)
        return wrong(fmt::format("`{}` is no port from 1 to 65535", port));
    out.port = port < 0 ? usual_port : static_cast<uint16_t>(port);
    out.path = text_of(evhttp_uri_get_path(uri.get()));
    while (out.path.ends_with('/'))
        out.path.pop_back();
    for (const std::string_view ending : {"/v1/metrics", "/v1/logs"})
        if (out.path.ends_with(ending))
            return wrong(fmt::format("leave out `{}`, which is added to it", ending));
    return out;
}

} // namespace sonde
