#include "runtime/sinks/metrics/answered_hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>

namespace sonde {
namespace {

// Host names are case-insensitive, and may end with a dot.
std::string plain_name(std::string_view name) {
    std::string out(name);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (out.ends_with('.'))
        out.pop_back();
    return out;
}

// Removes the port: `[::1]:9435`, `::1`, `name:9435`.
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) {
        const size_t end = host.find(']');
        return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
    }
    const size_t colon = host.find(':');
    return colon == std::string_view::npos || host.find(':', colon + 1) != std::string_view::npos
               ? host
               : host.substr(0, colon);
}

// Returns the bytes of an address; empty if the text is not an address of this family.
std::string address_bytes(const std::string& text, int family) {
    in6_addr bytes{};
    if (inet_pton(family, text.c_str(), &bytes) != 1)
        return "";
    return {reinterpret_cast<const char*>(&bytes), family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr)};
}

std::string address_bytes(const sockaddr* address) {
    if (address && address->sa_family == AF_INET) {
        const auto* four = reinterpret_cast<const sockaddr_in*>(address);
        return {reinterpret_cast<const char*>(&four->sin_addr), sizeof four->sin_addr};
    }
    if (address && address->sa_family == AF_INET6) {
        const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
        return {reinterpret_cast<const char*>(&six->sin6_addr), sizeof six->sin6_addr};
    }
    return "";
}

// Returns the fully qualified name of this machine; empty if the resolver does not know it.
std::string whole_name(const char* name) {
    addrinfo hints{};
    hints.ai_flags = AI_CANONNAME;
    addrinfo* found = nullptr;
    if (getaddrinfo(name, nullptr, &hints, &found) != 0)
        return "";
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
    return found->ai_canonname ? found->ai_canonname : "";
}

} // namespace

AnsweredHosts::AnsweredHosts(const std::string& configured, bool is_loopback) : is_loopback_(is_loopback) {
    names_ = {"localhost", plain_name(configured)};
    char own[256] = "";
    if (gethostname(own, sizeof own - 1) != 0 || own[0] == 0)
        return;
    names_.push_back(plain_name(own));
    if (!is_loopback)
        names_.push_back(plain_name(whole_name(own)));
}

bool AnsweredHosts::answers_address(const std::string& address) const {
    ifaddrs* list = nullptr;
    if (!is_loopback_ || getifaddrs(&list) != 0)
        return true;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(list, freeifaddrs);
    // All of 127.0.0.0/8 is loopback.
    if (address.size() == sizeof(in_addr) && address[0] == 127)
        return true;
    for (const ifaddrs* one = list; one; one = one->ifa_next)
        if (address_bytes(one->ifa_addr) == address)
            return true;
    return false;
}

// An address must be one of this machine's. A name must be localhost, the configured name or the machine's own name:
//
//     localhost:9435, 127.0.0.1, [::1]:9435, myhost.    answered
//     evil.example:9435, 127.0.0.1.evil.example         not answered, also if the names lead to 127.0.0.1
bool AnsweredHosts::answers(std::string_view host) const {
    const std::string name = plain_name(without_port(host));
    if (name.empty())
        return false;
    for (const int family : {AF_INET, AF_INET6})
        if (const std::string address = address_bytes(name, family); !address.empty())
            return answers_address(address);
    return std::ranges::find(names_, name) != names_.end();
}

} // namespace sonde
