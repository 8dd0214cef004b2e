// For which `Host:` the metrics' server answers.
//
// A web page may let its own name lead to 127.0.0.1 (DNS rebinding): the browser takes the server for the page's, and
// lets the page read what it serves. The browser sends the page's name as the host, so a server that answers for its
// own names only is safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

class AnsweredHosts {
  public:
    // `configured`: the name or the address that the server was told to listen at. `is_loopback`: only this machine
    // reaches it. Elsewhere any address will do, as a router or a container's port may stand for the machine.
    AnsweredHosts(const std::string& configured, bool is_loopback);

    // A header's value: a name or an address, with a port or without one.
    bool answers(std::string_view host) const;

  private:
    bool answers_address(const std::string& address) const;

    bool is_loopback_;
    std::vector<std::string> names_; // in small letters, without a dot at the end
};

} // namespace sonde
