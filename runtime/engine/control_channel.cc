#include "runtime/engine/control_channel.h"

#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"

namespace sonde {

// After the other end has closed, the frames that it sent before are still delivered.
bool ControlChannel::receive() {
    char bytes[65536];
    while (!gone_) {
        ssize_t got = recv(fd(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (got > 0)
            in_.append(bytes, static_cast<size_t>(got));
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            gone_ = true;
        else if (errno == EAGAIN)
            break;
    }
    return !gone_ || !in_.empty();
}

bool ControlChannel::take(ControlFrame& frame, std::string& text) {
    if (in_.size() < sizeof frame)
        return false;
    std::memcpy(&frame, in_.data(), sizeof frame);
    if (in_.size() - sizeof frame < frame.size)
        return false;
    text = in_.substr(sizeof frame, frame.size);
    in_.erase(0, sizeof frame + frame.size);
    return true;
}

// The limit protects the server's memory against a session that is stopped, and vice versa.
bool ControlChannel::send(ControlFrame frame, const std::string& text) {
    constexpr size_t most = 4 << 20;
    if (!flush() || out_.size() > most)
        return false;
    frame.size = text.size();
    out_.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    out_ += text;
    return flush();
}

bool ControlChannel::flush() {
    while (!out_.empty()) {
        ssize_t sent = ::send(fd(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0)
            out_.erase(0, static_cast<size_t>(sent));
        else if (errno == EAGAIN)
            return true;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

} // namespace sonde
