#include "base/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

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

Result<void> rewrite_file(const std::string& path, std::string_view data) {
    const auto fail = [&](int reason) { return errno_error(fmt::format("cannot write `{}`", path), reason); };
    const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr), std::free);
    struct stat before{};
    if (!target || stat(target.get(), &before) != 0)
        return fail(errno);
    if (!S_ISREG(before.st_mode))
        return Error(fmt::format("cannot write `{}`: it is not a regular file", path));
    if (access(target.get(), W_OK) != 0) // the folder's permission alone would be enough to replace it
        return fail(errno);
    const std::string fresh = fmt::format("{}.{}", target.get(), getpid());
    Result<Fd> fd = open_file(fresh, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!fd)
        return fail(fd.error().os_error);
    Result<void> done = write_all(fd->get(), data, path);
    // In this order: a change of the owner clears bits of the mode.
    if (done &&
        (fchown(fd->get(), before.st_uid, before.st_gid) != 0 || fchmod(fd->get(), before.st_mode & 07777) != 0 ||
         fsync(fd->get()) != 0 || rename(fresh.c_str(), target.get()) != 0))
        done = fail(errno);
    if (!done)
        unlink(fresh.c_str());
    return done;
}

} // namespace sonde
