#include "runtime/output.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace sonde {
namespace {

std::string with_time(const std::string& path) {
    if (path.find('%') == std::string::npos)
        return path;
    time_t now = time(nullptr);
    tm local{};
    localtime_r(&now, &local);
    std::string out(path.size() + 4096, 0);
    size_t length = strftime(out.data(), out.size(), path.c_str(), &local);
    out.resize(length);
    return length ? out : path;
}

} // namespace

Result<void> Output::open(const OutputFile& file) {
    target_ = file;
    target_.path = with_time(file.path);
    return open_next();
}

Result<void> Output::open_next() {
    if (!target_.path.empty()) {
        auto name = [&](uint64_t number) {
            return target_.bytes || number > 0 ? fmt::format("{}.{}", target_.path, number) : target_.path;
        };
        Result<Fd> file = open_file(name(opened_), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
        if (!file)
            return std::move(file).error();
        if (target_.files && opened_ >= target_.files)
            unlink(name(opened_ - target_.files).c_str()); // somebody may have taken it away
        opened_++;
        written_ = 0;
        file_ = *std::move(file);
        fd_ = file_.get();
    }
    interactive_ = isatty(fd_) == 1;
    return {};
}

void Output::switch_file() {
    flush();
    if (target_.path.empty())
        return;
    if (Result<void> opened = open_next(); !opened)
        failure_ = opened.error().message;
}

void Output::write(std::string_view text) {
    constexpr size_t flush_at = 256 << 10;
    if (target_.bytes && written_ + buffer_.size() + text.size() > target_.bytes && written_ + buffer_.size() > 0)
        switch_file();
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
    written_ += buffer_.size();
    buffer_.clear();
}

} // namespace sonde
