// Reads files of tracefs and debugfs, whether or not they are mounted.
//
// In containers and on minimal systems, these file systems are often not mounted. Mounting them in a folder would
// change the system for everybody. A detached mount has no folder (fsmount(2), Linux 5.2): it exists only as a
// descriptor, and disappears when the descriptor is closed.
#include "base/tracefs.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

struct PseudoFiles {
    const char* type;
    std::vector<std::string> folders; // possible mount points; the first one is the usual one
};

const PseudoFiles& tracefs() {
    static const PseudoFiles out{"tracefs", {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}};
    return out;
}

const PseudoFiles& debugfs() {
    static const PseudoFiles out{"debugfs", {"/sys/kernel/debug"}};
    return out;
}

// The root of a mount that is not visible in any folder.
Fd mount_detached(const char* type) {
    Fd context(static_cast<int>(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)));
    if (!context || syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return Fd();
    return Fd(static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
}

Result<Fd> open_in(const PseudoFiles& files, const std::string& path, int flags) {
    for (const std::string& folder : files.folders) {
        Result<Fd> file = open_file(fmt::format("{}/{}", folder, path), flags);
        if (file || file.error().os_error != ENOENT)
            return file;
    }
    Fd root = mount_detached(files.type);
    if (!root)
        return errno_error(
            fmt::format("{0} is not mounted, and this process may not mount it; run `mount -t {0} {0} {1}` as root",
                        files.type, files.folders[0]),
            errno);
    Fd file(openat(root.get(), path.c_str(), flags | O_CLOEXEC));
    if (!file)
        return errno_error(fmt::format("cannot open `{}` of {}", path, files.type), errno);
    return file;
}

Result<std::string> read_in(const PseudoFiles& files, const std::string& path) {
    Result<Fd> file = open_in(files, path, O_RDONLY);
    if (!file)
        return std::move(file).error();
    return read_all(file->get(), path);
}

} // namespace

Result<Fd> open_tracefs(const std::string& path, int flags) { return open_in(tracefs(), path, flags); }
Result<std::string> read_tracefs(const std::string& path) { return read_in(tracefs(), path); }
Result<std::string> read_debugfs(const std::string& path) { return read_in(debugfs(), path); }

} // namespace sonde
