#include "base/tracefs.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sonde {
namespace {

// The root of a mount that is not visible in any folder.
Fd mount_detached() {
    Fd context(static_cast<int>(syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
    if (!context || syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return Fd();
    return Fd(static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
}

} // namespace

Result<Fd> open_tracefs(const std::string& path, int flags) {
    for (const char* folder : {"/sys/kernel/tracing/", "/sys/kernel/debug/tracing/"}) {
        Result<Fd> file = open_file(folder + path, flags);
        if (file || file.error().os_error != ENOENT)
            return file;
    }
    Fd root = mount_detached();
    if (!root)
        return errno_error("tracefs is not mounted, and cannot be", errno);
    Fd file(openat(root.get(), path.c_str(), flags | O_CLOEXEC));
    if (!file)
        return errno_error("cannot open `" + path + "` of tracefs", errno);
    return file;
}

Result<std::string> read_tracefs(const std::string& path) {
    Result<Fd> file = open_tracefs(path, O_RDONLY);
    if (!file)
        return std::move(file).error();
    return read_all(file->get(), path);
}

} // namespace sonde
