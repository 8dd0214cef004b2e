#include "runtime/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace sonde {

Result<void> Output::open(const std::string& path) {
    if (!path.empty()) {
        Result<Fd> file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
        if (!file)
            return std::move(file).error();
        file_ = *std::move(file);
        fd_ = file_.get();
        path_ = path;
    }
    interactive_ = isatty(fd_) == 1;
    return {};
}

void Output::switch_file() {
    if (path_.empty())
        return;
    flush();
    std::string next = path_ + "." + std::to_string(++switched_);
    Result<Fd> file = open_file(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (!file) {
        failure_ = file.error().message;
        return;
    }
    file_ = *std::move(file);
    fd_ = file_.get();
}

void Output::write(std::string_view text) {
    constexpr size_t flush_at = 256 << 10;
    buffer_ += text;
    if (interactive_ || buffer_.size() >= flush_at)
        flush();
}

void Output::flush() {
    for (size_t done = 0; done < buffer_.size() && failure_.empty();) {
        ssize_t wrote = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
        if (wrote > 0) {
            done += static_cast<size_t>(wrote);
        } else if (wrote < 0 && errno == EAGAIN) {
            // Somebody made the terminal or pipe that we share non-blocking.
            pollfd ready{fd_, POLLOUT, 0};
            poll(&ready, 1, -1);
        } else if (wrote < 0 && errno != EINTR) {
            failure_ = errno_error("cannot write the output", errno).message;
        }
    }
    buffer_.clear();
}

} // namespace sonde
