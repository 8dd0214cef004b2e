// Where something is pushed to by HTTP, and with which headers, as options have them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sonde {

struct HttpTarget {
    std::string host; // a name or an address, IPv6 without brackets; empty: there is none
    uint16_t port = 0;
    bool has_tls = false;
    std::string path;  // begins with /, or is empty; without a / at its end
    std::string query; // with its ?, or empty

    // As the Host header has it.
    std::string host_and_port() const;
    // Of this machine: nothing of what is sent is seen by others.
    bool is_loopback() const;
};

// What an option's URL can be.
struct HttpOption {
    const char* name;     // in messages
    const char* example;  // a URL
    uint16_t port;        // without one in the URL; of https it is 443. 0: 80
    bool takes_query;     // what stands after ?
    const char* is_added; // the path's endings that are added to it, with a blank between them
};
// Errors: what is wrong with it.
Result<HttpTarget> parse_http_target(const std::string& text, const HttpOption& option);

struct HttpHeader {
    std::string name, value;
};
// `NAME=VALUE`, `NAME=@FILE` or `NAME=env:VARIABLE`: secrets are seen by nobody there, as words of a command line are.
// Errors: what is wrong with it; it cannot be read.
Result<HttpHeader> parse_http_header(const std::string& text, const std::string& option);

} // namespace sonde
