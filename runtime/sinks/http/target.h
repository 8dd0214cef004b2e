// The URL and the headers of an HTTP push, parsed from options.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sonde {

// A parsed URL.
struct HttpTarget {
    std::string host; // name or address, IPv6 without brackets; empty: no target
    uint16_t port = 0;
    bool has_tls = false;
    std::string path;  // empty, or begins with `/`; never ends with `/`
    std::string query; // empty, or begins with `?`

    // "host:port", in the form of the Host header.
    std::string host_and_port() const;
    // True if the target is on this machine, so that nobody else can read the data.
    bool is_loopback() const;
};

// The form of URL that an option accepts.
struct HttpOption {
    const char* name;     // the option's name, for messages
    const char* example;  // an example URL, for messages
    uint16_t port;        // default port for http, 0: 80; the default for https is 443
    bool takes_query;     // true: the URL may have a query
    const char* is_added; // paths that sonde appends, separated by spaces; the URL must not end with one
};
// Returns an error message if the URL is not valid for the option.
Result<HttpTarget> parse_http_target(const std::string& text, const HttpOption& option);

struct HttpHeader {
    std::string name, value;
};
// Parses `NAME=VALUE`, `NAME=@FILE` or `NAME=env:VARIABLE`. The last two keep secrets out of the command line, which
// all users can read. Fails if the syntax is wrong or the value cannot be read.
Result<HttpHeader> parse_http_header(const std::string& text, const std::string& option);

} // namespace sonde
