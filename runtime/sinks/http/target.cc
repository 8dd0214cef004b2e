#include "runtime/sinks/http/target.h"

#include <event2/http.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {
namespace {

constexpr uint16_t http_port = 80, https_port = 443;

std::string text_of(const char* part) { return part ? part : ""; }

} // namespace

std::string HttpTarget::host_and_port() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

bool HttpTarget::is_loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }

// User names and passwords in the URL are rejected, because other users can read command lines. --otlp-header takes
// secrets from a file. Examples:
//
//     http://host                 port 80, or the option's default port
//     https://host:4318/tenant    with TLS; the path is before the one that sonde appends
//     http://[::1]:9000           the host is ::1
//     host:4318                   refused: not a URL
//     http://me:secret@host       refused: everybody could read the password
//     http://host/v1/metrics      refused if sonde appends /v1/metrics itself
Result<HttpTarget> parse_http_target(const std::string& text, const HttpOption& option) {
    const auto wrong = [&](const std::string& why) {
        return Error(fmt::format("{} {}: {}; expected http://HOST[:PORT][/PATH] or https://..., as in {}={}",
                                 option.name, text, why, option.name, option.example));
    };
    const std::unique_ptr<evhttp_uri, decltype(&evhttp_uri_free)> uri(evhttp_uri_parse(text.c_str()), evhttp_uri_free);
    const std::string scheme = uri ? text_of(evhttp_uri_get_scheme(uri.get())) : "";
    HttpTarget out;
    out.has_tls = strcasecmp(scheme.c_str(), "https") == 0;
    if (text.find("://") == std::string::npos || (!out.has_tls && strcasecmp(scheme.c_str(), "http") != 0))
        return wrong(uri && !scheme.empty() && text.find("://") != std::string::npos
                         ? fmt::format("`{}` is not a supported protocol", scheme)
                         : "it is not a URL");
    out.host = text_of(evhttp_uri_get_host(uri.get()));
    if (out.host.starts_with('[') && out.host.ends_with(']'))
        out.host = out.host.substr(1, out.host.size() - 2);
    if (out.host.empty())
        return wrong("it has no host");
    if (evhttp_uri_get_userinfo(uri.get()))
        return wrong("it must not contain a name and a password, which everybody could read");
    if (evhttp_uri_get_fragment(uri.get()) || (!option.takes_query && evhttp_uri_get_query(uri.get())))
        return wrong("it must end with its path");
    const int port = evhttp_uri_get_port(uri.get());
    if (port == 0 || port > UINT16_MAX)
        return wrong(fmt::format("`{}` is not a port from 1 to 65535", port));
    out.port = port > 0      ? static_cast<uint16_t>(port)
               : out.has_tls ? https_port
               : option.port ? option.port
                             : http_port;
    out.path = text_of(evhttp_uri_get_path(uri.get()));
    while (out.path.ends_with('/'))
        out.path.pop_back();
    if (const char* query = evhttp_uri_get_query(uri.get()))
        out.query = fmt::format("?{}", query);
    std::istringstream endings(option.is_added);
    for (std::string ending; endings >> ending;)
        if (out.path.ends_with(ending))
            return wrong(fmt::format("remove `{}`, which sonde appends", ending));
    return out;
}

// Rejects headers that sonde itself sets, and values with control characters: a newline would add another header.
Result<HttpHeader> parse_http_header(const std::string& text, const std::string& option) {
    const size_t equals = text.find('=');
    HttpHeader out{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
    // The value may be a secret, so messages contain the name only.
    const auto wrong = [&](const std::string& why) {
        return Error(fmt::format("{} {}: {}; expected NAME=VALUE, NAME=@FILE or NAME=env:VARIABLE, as in "
                                 "{}=Authorization=@/etc/sonde/token",
                                 option, out.name, why, option));
    };
    constexpr std::string_view allowed = "!#$%&'*+-.^_`|~", from_variable = "env:"; // RFC 9110, 5.6.2
    const auto is_name = [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || allowed.find(c) != std::string_view::npos;
    };
    if (equals == std::string::npos)
        return wrong("it has no value");
    if (out.name.empty() || !std::ranges::all_of(out.name, is_name))
        return wrong(fmt::format("`{}` is not a header's name", out.name));
    for (const char* own :
         {"Host", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection"})
        if (strcasecmp(own, out.name.c_str()) == 0)
            return wrong("sonde writes this header itself");
    if (out.value.starts_with('@')) {
        Result<std::string> read = read_file(out.value.substr(1));
        if (!read)
            return wrong(read.error().message);
        out.value = *std::move(read);
    } else if (out.value.starts_with(from_variable)) {
        const std::string variable = out.value.substr(from_variable.size());
        const char* value = std::getenv(variable.c_str());
        if (!value)
            return wrong(fmt::format("the environment has no variable `{}`", variable));
        out.value = value;
    }
    while (!out.value.empty() && std::isspace(static_cast<unsigned char>(out.value.back())) != 0)
        out.value.pop_back();
    if (out.value.empty())
        return wrong("its value is empty");
    if (std::ranges::any_of(out.value, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }))
        return wrong("its value has more than one line, or a control character");
    return out;
}

} // namespace sonde
