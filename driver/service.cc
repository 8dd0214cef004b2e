#include "driver/service.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace sonde {

bool is_service() { return std::getenv("NOTIFY_SOCKET") != nullptr; }

void tell_manager(const std::string& state) {
    const char* where = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    const std::string_view name = where ? where : "";
    const bool is_known = name.starts_with('/') || name.starts_with('@'); // @: in the abstract namespace
    if (!is_known || name.size() >= sizeof address.sun_path)
        return;
    address.sun_family = AF_UNIX;
    std::ranges::copy(name, address.sun_path);
    if (name[0] == '@')
        address.sun_path[0] = 0;
    Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    // Do not wait for a manager that does not listen: the session is more important.
    static_cast<void>(sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                             reinterpret_cast<const sockaddr*>(&address), size));
}

Watchdog::Watchdog() {
    const char *wanted = std::getenv("WATCHDOG_USEC"), *of = std::getenv("WATCHDOG_PID");
    // sd_watchdog_enabled(3) recommends a message after half of the time.
    if (wanted && (!of || std::atoll(of) == getpid()))
        interval_ns_ = std::atoll(wanted) * 1000 / 2;
}

void Watchdog::feed() {
    const int64_t now = interval_ns_ > 0 ? now_ns() : 0;
    if (interval_ns_ <= 0 || now - fed_at_ < interval_ns_)
        return;
    fed_at_ = now;
    tell_manager("WATCHDOG=1");
}

Error begin_anew() {
    Result<std::string> line = read_file("/proc/self/cmdline");
    if (!line)
        return std::move(line).error();
    std::vector<char*> words;
    for (size_t at = 0; at < line->size(); at += std::strlen(line->data() + at) + 1)
        words.push_back(line->data() + at);
    words.push_back(nullptr);
    // A session ignores these signals at its end, and exec() keeps ignored signals ignored.
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ})
        ::signal(signal, SIG_DFL);
    // Start by the path, which can be a newer version of sonde by now.
    if (words[0] && std::strchr(words[0], '/'))
        execv(words[0], words.data());
    execv("/proc/self/exe", words.data());
    return errno_error("cannot begin anew", errno);
}

} // namespace sonde
