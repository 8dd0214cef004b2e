#include "runtime/sinks/metrics/connection_limit.h"

#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace sonde {
namespace {

constexpr size_t most_ever = 4096;
constexpr timeval moment{0, 200'000}; // pause before accepting again

// Returns the local port of a socket in network byte order; 0 if the descriptor is not an IP socket.
in_port_t port_of(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return 0;
    return address.ss_family == AF_INET    ? reinterpret_cast<const sockaddr_in&>(address).sin_port
           : address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                           : in_port_t{0};
}

} // namespace

void ConnectionLimit::end() {
    if (knock_)
        event_free(std::exchange(knock_, nullptr));
}

bool ConnectionLimit::begin(event_base* base, evconnlistener* listener) {
    listener_ = listener;
    fd_ = evconnlistener_get_fd(listener);
    rlimit files{};
    most_ = getrlimit(RLIMIT_NOFILE, &files) == 0 ? std::min<size_t>(most_ever, files.rlim_cur / 4) : most_ever;
    room_ = most_;
    knock_ = event_new(
        base, fd_, EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* limit) { static_cast<ConnectionLimit*>(limit)->look(); }, this);
    return knock_ && event_add(knock_, nullptr) == 0;
}

// Returns the number of sockets on the server's port, without listening ones.
size_t ConnectionLimit::count() const {
    const in_port_t own = port_of(fd_);
    size_t out = 0;
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string name = entry->path().filename();
        int fd = -1, listens = 0;
        socklen_t size = sizeof listens;
        std::from_chars(name.data(), name.data() + name.size(), fd);
        out += port_of(fd) == own && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && !listens;
    }
    return out;
}

void ConnectionLimit::set_closed(bool closed) {
    if (closed == is_closed_)
        return;
    is_closed_ = closed;
    static_cast<void>(closed ? evconnlistener_disable(listener_) : evconnlistener_enable(listener_));
    event_del(knock_);
    event_add(knock_, closed ? &moment : nullptr);
}

// libevent accepts connections until none is waiting or the listener is disabled.
void ConnectionLimit::accepted() {
    room_ -= room_ > 0;
    if (room_ == 0)
        set_closed(true);
}

// While the limit is reached, the listener is disabled, and connections that have arrived are accepted and closed. They
// would otherwise wait in the backlog without an answer.
void ConnectionLimit::look() {
    room_ = most_ - std::min(most_, count());
    set_closed(room_ == 0);
    for (int refused = 0; is_closed_ && (refused = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
        close(refused);
}

} // namespace sonde
