#include "base/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {

Result<void> replace_file(const std::string& path, std::string_view data, unsigned mode) {
    // Write to devices and pipes (/dev/stdout, a FIFO) and through links directly, because they must not be replaced.
    struct stat before{};
    if (lstat(path.c_str(), &before) == 0 && !S_ISREG(before.st_mode))
        return write_file(path, data, mode);
    const std::string fresh = fmt::format("{}.{}", path, getpid());
    Result<Fd> fd = open_file(fresh, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (!fd)
        return errno_error(fmt::format("cannot write `{}`", path), fd.error().os_error);
    Result<void> done = write_all(fd->get(), data, path);
    if (done && rename(fresh.c_str(), path.c_str()) != 0)
        done = errno_error(fmt::format("cannot write `{}`", path), errno);
    if (!done)
        unlink(fresh.c_str());
    return done;
}

} // namespace sonde
