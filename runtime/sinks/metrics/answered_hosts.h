// Decides for which `Host:` headers the metrics server answers.
//
// This protects against DNS rebinding. A malicious web page can make its own host name resolve to 127.0.0.1. The
// browser then treats the server as part of the page, and lets the page read the answers. But the browser sends the
// page's host name in the header. So a server that answers only for its own names is safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

class AnsweredHosts {
  public:
    // `configured`: the name or address that the server listens on. `is_loopback`: the server listens on a loopback
    // address. Otherwise any address in the header is accepted, since a router or a container's port may forward
    // requests under another address.
    AnsweredHosts(const std::string& configured, bool is_loopback);

    // True if the server should answer. `host` is a name or an address, with or without a port.
    bool answers(std::string_view host) const;

  private:
    bool answers_address(const std::string& address) const;

    bool is_loopback_;
    std::vector<std::string> names_; // in lower case, without a final dot
};

} // namespace sonde
