// Reads and writes whole files. A signal can interrupt read(2) and write(2), and both can process only a part of the
// data, so they are repeated until everything is done.
#include "base/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "base/trusted_file.h"

namespace sonde {

void Fd::reset(int fd) {
    if (fd_ >= 0) {
        int saved = errno;
        // Linux closes the descriptor even if close(2) returns EINTR. A second call could close another file.
        close(fd_);
        errno = saved;
    }
    fd_ = fd;
}

Result<Fd> open_file(const std::string& path, int flags, unsigned mode) {
    int fd;
    do
        fd = open(path.c_str(), flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno_error(fmt::format("cannot open `{}`", path), errno);
    return Fd(fd);
}

Result<std::string> read_all(int fd, const std::string& what) {
    std::string text;
    char buffer[65536];
    for (;;) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got == 0)
            return text;
        if (got > 0)
            text.append(buffer, static_cast<size_t>(got));
        else if (errno != EINTR)
            return errno_error(fmt::format("cannot read `{}`", what), errno);
    }
}

Result<std::string> read_file(const std::string& path) {
    Result<Fd> fd = open_file(path, O_RDONLY);
    if (!fd)
        return errno_error(fmt::format("cannot read `{}`", path), fd.error().os_error);
    return read_all(fd->get(), path);
}

Result<void> write_all(int fd, std::string_view data, const std::string& what) {
    while (!data.empty()) {
        ssize_t done = write(fd, data.data(), data.size());
        if (done >= 0)
            data.remove_prefix(static_cast<size_t>(done));
        else if (errno != EINTR)
            return errno_error(fmt::format("cannot write `{}`", what), errno);
    }
    return {};
}

Result<void> write_file(const std::string& path, std::string_view data, unsigned mode) {
    Result<Fd> fd = create_file(path, 0, mode);
    if (!fd)
        return std::move(fd).error();
    return write_all(fd->get(), data, path);
}

} // namespace sonde
