#include "driver/sysroot.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/check.h"

namespace sonde {
namespace {

bool write_map(const char* path, const std::string& text) {
    const Result<Fd> file = open_file(path, O_WRONLY);
    return file && write(file->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Creates a user namespace, in which this process has all capabilities. Its user and group stay the same, so files that
// it writes belong to the user.
bool enter_user_namespace() {
    const uid_t user = geteuid();
    const gid_t group = getegid();
    return unshare(CLONE_NEWUSER) == 0 && write_map("/proc/self/setgroups", "deny") &&
           write_map("/proc/self/uid_map", fmt::format("{0} {0} 1\n", user)) &&
           write_map("/proc/self/gid_map", fmt::format("{0} {0} 1\n", group));
}

Result<Fd> open_folder(const std::string& path) { return open_file(path, O_PATH | O_DIRECTORY); }

// Both directories exist as long as their descriptors, so a failure is a fault of this class.
void change_root(const Fd& root, const Fd& working) {
    CHECK(fchdir(root.get()) == 0 && chroot(".") == 0 && fchdir(working.get()) == 0);
}

} // namespace

Result<std::unique_ptr<Sysroot>> Sysroot::enter(const std::string& folder) {
    const std::string context = fmt::format("--sysroot {}", folder);
    std::unique_ptr<Sysroot> out(new Sysroot());
    Result<Fd> inner = open_folder(folder);
    if (!inner)
        return std::move(inner).error().in(context);
    Result<Fd> root = open_folder("/"), working = open_folder(".");
    if (!root)
        return std::move(root).error().in(context);
    if (!working)
        return std::move(working).error().in(context);
    std::error_code error;
    const std::string target = std::filesystem::canonical(folder, error).string();
    const std::string here = std::filesystem::current_path(error).string();
    const bool is_below = here.starts_with(target + "/");
    if (fchdir(inner->get()) != 0)
        return errno_error(context, errno);
    bool is_entered = chroot(".") == 0;
    if (!is_entered && errno == EPERM)
        is_entered = enter_user_namespace() && chroot(".") == 0;
    if (!is_entered) {
        const int reason = errno;
        CHECK(fchdir(working->get()) == 0);
        return Error(fmt::format("{}: sonde cannot make this folder its root directory ({}): that requires "
                                 "CAP_SYS_CHROOT, or user namespaces (user_namespaces(7)); run sonde as root",
                                 context, std::generic_category().message(reason)),
                     reason);
    }
    out->is_inside_ = true;
    out->root_ = *std::move(root);
    out->working_ = *std::move(working);
    out->inner_root_ = *std::move(inner);
    Result<Fd> inner_working = open_folder(is_below ? here.substr(target.size()) : "/");
    if (!inner_working)
        return std::move(inner_working).error().in(context);
    out->inner_working_ = *std::move(inner_working);
    out->enter_again();
    // Downloads would be files of this machine, in a cache that has no place in the folder.
    unsetenv("DEBUGINFOD_URLS");
    return out;
}

void Sysroot::leave() {
    if (is_inside_)
        change_root(root_, working_);
    is_inside_ = false;
}

void Sysroot::enter_again() {
    change_root(inner_root_, inner_working_);
    is_inside_ = true;
}

} // namespace sonde
