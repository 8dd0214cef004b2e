// The file must not exist before the first message, so standard error cannot simply be the file. It is a pipe instead.
// The process that reads the pipe must be sonde itself: commands that sonde starts inherit standard error, and their
// messages belong to the same file. A thread reads, because the session's main loop may be busy when a command writes a
// lot.
//
// The destructor must not lose messages: it replaces the pipe's last writer, wakes the thread up, and the thread reads
// the pipe until it is empty. It must not wait for the end of the file either, because a command that still runs has
// the writing end open.
#include "driver/late_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/quiet_thread.h"
#include "base/trusted_file.h"

namespace sonde {

LateFile::LateFile(std::string path) : path_(std::move(path)), end_(eventfd(0, EFD_CLOEXEC)) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(path_, ignored)) && create_file(path_))
        std::filesystem::remove(path_, ignored);
    // Without a descriptor or a thread, create the file at once.
    if (!start())
        if (Result<Fd> file = create_file(path_, O_APPEND))
            dup2(file->get(), STDERR_FILENO);
}

bool LateFile::start() {
    int ends[2];
    if (!end_ || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    reader_.reset(ends[0]);
    const Fd writer(ends[1]);
    fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    Result<std::thread> thread = start_quiet_thread("writes messages to a file", [this] { copy(); });
    if (!thread)
        return false;
    thread_ = *std::move(thread);
    dup2(writer.get(), STDERR_FILENO);
    return true;
}

LateFile::~LateFile() {
    const Fd nothing(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (nothing)
        dup2(nothing.get(), STDERR_FILENO);
    if (!thread_.joinable())
        return;
    eventfd_write(end_.get(), 1);
    thread_.join();
}

void LateFile::copy() {
    pollfd waits[] = {{reader_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
    for (bool more = true; more && !waits[1].revents;) {
        poll(waits, std::size(waits), -1);
        more = take();
    }
}

bool LateFile::take() {
    char text[4096];
    for (;;) {
        const ssize_t size = read(reader_.get(), text, sizeof text);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return size < 0 && errno == EAGAIN;
        if (!file_ && !std::exchange(refused_, true))
            if (Result<Fd> file = create_file(path_, O_APPEND))
                file_ = *std::move(file);
        for (ssize_t done = 0; file_ && done < size;) {
            const ssize_t written = write(file_.get(), text + done, static_cast<size_t>(size - done));
            if (written < 0 && errno != EINTR)
                break;
            done += std::max<ssize_t>(written, 0);
        }
    }
}

} // namespace sonde
