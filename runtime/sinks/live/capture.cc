#include "runtime/sinks/live/capture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "base/quiet_thread.h"
#include "base/terminal_text.h"

namespace sonde {

// Saves the original descriptors and replaces them. Text in stdio's buffers was written before, so it must be flushed
// first.
Result<std::unique_ptr<Capture>> Capture::start(Terminal& terminal, bool raw) {
    std::unique_ptr<Capture> out(new Capture(terminal, raw));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return Error(fmt::format("cannot make a pipe: {}", strerror(errno)), errno);
    out->read_.reset(ends[0]);
    const Fd write(ends[1]);
    out->stop_.reset(eventfd(0, EFD_CLOEXEC));
    std::fflush(stdout);
    std::fflush(stderr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
        if (isatty(fd) == 1) {
            out->before_[fd].reset(fcntl(fd, F_DUPFD_CLOEXEC, 3));
            dup2(write.get(), fd);
        }
    // The screen reads the keys, so a command must not.
    if (Result<Fd> nothing = open_file("/dev/null", O_RDONLY); nothing && isatty(STDIN_FILENO) == 1) {
        out->before_[STDIN_FILENO].reset(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
        dup2(nothing->get(), STDIN_FILENO);
    }
    Result<std::thread> thread = start_quiet_thread("takes the output", [capture = out.get()] { capture->read(); });
    if (!thread)
        return std::move(thread).error();
    out->thread_ = *std::move(thread);
    return out;
}

Capture::~Capture() {
    release();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (before_[fd])
            dup2(before_[fd].get(), fd);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = write(stop_.get(), &one, sizeof one);
    if (thread_.joinable())
        thread_.join();
}

// Waits for text until the destructor signals the end. The end of the pipe would not work: a background command may
// keep it open.
void Capture::read() {
    fcntl(read_.get(), F_SETFL, O_NONBLOCK);
    for (;;) {
        pollfd fds[] = {{read_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        char bytes[65536];
        const ssize_t size = ::read(read_.get(), bytes, sizeof bytes);
        if (size > 0)
            take({bytes, static_cast<size_t>(size)});
        else if (fds[1].revents || size == 0)
            return;
    }
}

// Passes text to the terminal, or splits it into lines and keeps the last ones.
void Capture::take(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (!holds_) {
        terminal_.write(raw_ ? std::string(text) : terminal_text(text));
        return;
    }
    while (!text.empty()) {
        const size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (line_goes_on_ && !lines_.empty() && lines_.back().size() < longest_line)
            lines_.back() += line;
        else
            lines_.emplace_back(line);
        line_goes_on_ = end == std::string_view::npos;
        text.remove_prefix(line_goes_on_ ? text.size() : end + 1);
        if (lines_.size() > most_lines) {
            lines_.pop_front();
            dropped_++;
        }
    }
}

void Capture::hold() {
    const std::lock_guard lock(mutex_);
    holds_ = true;
}

// Prints the kept lines, and how many earlier ones were dropped.
void Capture::release() {
    const std::lock_guard lock(mutex_);
    if (!holds_)
        return;
    holds_ = false;
    std::string text;
    if (dropped_)
        text = fmt::format("({} earlier lines are not shown; -o FILE keeps all)\n", dropped_);
    for (size_t i = 0; i < lines_.size(); i++)
        text += lines_[i] + (i + 1 == lines_.size() && line_goes_on_ ? "" : "\n");
    terminal_.write(raw_ ? text : terminal_text(text));
    lines_.clear();
    line_goes_on_ = false;
    dropped_ = 0;
}

std::vector<std::string> Capture::last_lines(size_t most) const {
    const std::lock_guard lock(mutex_);
    const size_t count = std::min(most, lines_.size());
    return {lines_.end() - static_cast<ptrdiff_t>(count), lines_.end()};
}

} // namespace sonde
