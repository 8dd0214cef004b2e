// Files that root executes or obeys, and files that are created in shared folders.
//
// The rules for links and files are those of fs.protected_symlinks, protected_regular and protected_fifos
// (Documentation/admin-guide/sysctl/fs.rst), which are not enabled on every machine.
//
// Reading: if root runs a script, its author gets root's rights. So neither the file nor a folder on its path may be
// writable by other users. A group that contains only the caller of sudo does not count. The check uses the
// descriptor that is read afterwards, because the path may lead to another file a moment later. Sticky folders are an
// exception: only a file's owner can replace the file there.
//
// Writing: in /tmp, another user can create a link with the name that root will use, which leads to /etc/shadow. So
// links of others are refused, and O_NOFOLLOW prevents a link that is created between the check and open(). The file is
// truncated only after its owner was checked.
#include "base/trusted_file.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

constexpr mode_t others_write = S_IWGRP | S_IWOTH;

// The user who called sudo could become root anyway.
bool is_own(uid_t owner) {
    if (owner == 0 || has_lent_rights())
        return owner == 0;
    if (owner == geteuid())
        return true;
    const char* caller = std::getenv("SUDO_UID");
    return caller && *caller && fmt::to_string(owner) == caller;
}

// Calls `line(fields)` for each line of a file in the format of passwd(5), whose fields are separated by colons.
template <typename Line> void for_each_line(const char* path, const Line& line) {
    const Result<std::string> text = read_file(path);
    std::istringstream rows(text ? *text : "");
    for (std::string row; std::getline(rows, row);) {
        std::vector<std::string> fields;
        std::istringstream cells(row);
        for (std::string cell; std::getline(cells, cell, ':');)
            fields.push_back(cell);
        line(fields);
    }
}

// Whether the group has only one member: the user who called sudo. Many systems create such a group for each user, and
// give the user a umask with which the group may write.
bool is_private_group(gid_t group) {
    const char* caller = std::getenv("SUDO_UID");
    if (!caller || has_lent_rights())
        return false;
    std::vector<std::string> members; // users who have the group as their first one
    bool is_callers = false, has_others = false;
    const std::string number = fmt::to_string(group);
    for_each_line("/etc/passwd", [&](const std::vector<std::string>& user) {
        if (user.size() < 4 || user[3] != number)
            return;
        members.push_back(user[0]);
        is_callers |= user[2] == caller;
    });
    for_each_line("/etc/group", [&](const std::vector<std::string>& fields) {
        if (fields.size() >= 4 && fields[2] == number)
            has_others |= !fields[3].empty() && (members.empty() || fields[3] != members[0]);
    });
    return is_callers && members.size() == 1 && !has_others;
}

// The reason why another user may have written the file; empty if none could.
std::string why_not_own(const struct stat& status, const std::string& path) {
    if (!is_own(status.st_uid))
        return fmt::format("`{}` belongs to another user (uid {}); run `chown root {}`", path, status.st_uid, path);
    const bool sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX);
    mode_t writers = status.st_mode & others_write;
    if (writers == S_IWGRP && is_private_group(status.st_gid))
        writers = 0;
    if (writers && !sticky_folder)
        return fmt::format("others may write to `{}`; run `chmod go-w {}`", path, path);
    return "";
}

std::string why_not_trusted(int fd, const std::string& path) {
    struct stat status{};
    if (fstat(fd, &status) != 0)
        return errno_error(fmt::format("cannot read `{}`", path), errno).message;
    // Pipes and terminals come from the caller.
    if (!S_ISREG(status.st_mode) && !has_lent_rights())
        return "";
    if (std::string why = why_not_own(status, path); !why.empty())
        return why;
    std::error_code error;
    std::filesystem::path real = std::filesystem::canonical(path, error);
    for (std::filesystem::path folder = real.parent_path(); !error && !folder.empty(); folder = folder.parent_path()) {
        if (stat(folder.c_str(), &status) != 0)
            return errno_error(fmt::format("cannot read `{}`", folder.string()), errno).message;
        if (std::string why = why_not_own(status, folder.string()); !why.empty())
            return why;
        if (folder == folder.root_path())
            break;
    }
    return "";
}

bool is_shared_folder(const std::filesystem::path& folder, struct stat& status) {
    const char* name = folder.empty() ? "." : folder.c_str();
    return stat(name, &status) == 0 && (status.st_mode & S_ISVTX) && (status.st_mode & others_write);
}

// A link on the file's path that another user has created in a folder that everyone may write; empty if there is none.
std::string foreign_link(const std::string& path) {
    std::filesystem::path prefix;
    for (const std::filesystem::path& part : std::filesystem::path(path)) {
        struct stat link{}, folder{};
        std::filesystem::path parent = prefix;
        prefix /= part;
        if (lstat(prefix.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && is_shared_folder(parent, folder) &&
            link.st_uid != geteuid() && link.st_uid != folder.st_uid)
            return prefix.string();
    }
    return "";
}

bool is_link(const std::string& path) {
    struct stat status{};
    return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

} // namespace

Result<std::string> read_trusted_file(const std::string& path) {
    Result<Fd> fd = open_file(path, O_RDONLY);
    if (!fd)
        return errno_error(fmt::format("cannot read `{}`", path), fd.error().os_error);
    if (geteuid() == 0)
        if (std::string why = why_not_trusted(fd->get(), path); !why.empty())
            return Error(fmt::format("root does not run a file that another user could have written\n  {}", why),
                         EPERM);
    return read_all(fd->get(), path);
}

bool has_lent_rights() { return getauxval(AT_SECURE) != 0; }

Result<std::string> read_code_file(const std::string& path) {
    if (!has_lent_rights())
        return read_trusted_file(path);
    Result<Fd> fd = open_file(path, O_RDONLY);
    if (!fd)
        return errno_error(fmt::format("cannot read `{}`", path), fd.error().os_error);
    if (std::string why = why_not_trusted(fd->get(), path); !why.empty())
        return Error(fmt::format("the native code in this file would run with the capabilities of sonde's own file, so "
                                 "sonde runs it only if root wrote it\n  {}\n  run the script itself instead",
                                 why),
                     EPERM);
    return read_all(fd->get(), path);
}

Result<Fd> create_file(const std::string& path, int flags, unsigned mode) {
    if (std::string link = foreign_link(path); !link.empty())
        return Error(
            fmt::format(
                "cannot open `{}`: `{}` is another user's link in a folder that all may write to; use another name",
                path, link),
            EACCES);
    // The kernel refuses a link that is created from here on.
    const int follow = is_link(path) ? 0 : O_NOFOLLOW;
    Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | flags | follow, mode));
    if (!fd)
        return errno_error(fmt::format("cannot open `{}`", path), errno);
    struct stat status{}, folder{};
    if (fstat(fd.get(), &status) != 0)
        return errno_error(fmt::format("cannot open `{}`", path), errno);
    if ((S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) && follow && status.st_uid != geteuid() &&
        is_shared_folder(std::filesystem::path(path).parent_path(), folder) && status.st_uid != folder.st_uid)
        return Error(
            fmt::format(
                "cannot open `{}`: it belongs to another user, in a folder that all may write to; use another name",
                path),
            EACCES);
    if (S_ISREG(status.st_mode) && ftruncate(fd.get(), 0) != 0)
        return errno_error(fmt::format("cannot write `{}`", path), errno);
    return fd;
}

} // namespace sonde
