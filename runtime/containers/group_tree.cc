// Reads the folders of the unified hierarchy (cgroup v2).
//
// The hierarchy can be mounted anywhere, and in several places. In a container, the visible mount often shows only the
// container's own part, with paths relative to its cgroup namespace. The mountinfo of process 1 then leads to the whole
// hierarchy, if the container shares the host's PID namespace.
//
// Two inode numbers are constants of the kernel, and so identify the whole hierarchy and the initial namespace: 1 for
// the hierarchy's root folder, and PROC_CGROUP_INIT_INO for the initial cgroup namespace.
#include "runtime/containers/group_tree.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"

namespace sonde {
namespace {

// A line of /proc/PID/mountinfo (proc(5)). Its first fields are number, parent, device, root and mount point.
struct Mount {
    std::string root, point, type;
};

// Replaces escapes: the kernel writes blanks, tabs, newlines and backslashes as `\` and three octal digits.
std::string unescaped(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        int code = 0;
        const bool is_code = text[i] == '\\' && i + 3 < text.size() &&
                             std::from_chars(&text[i + 1], &text[i + 1] + 3, code, 8).ptr == &text[i + 1] + 3;
        out += is_code ? static_cast<char>(code) : text[i];
        i += is_code ? 3 : 0;
    }
    return out;
}

std::vector<Mount> read_mounts(const std::string& process) {
    std::vector<Mount> out;
    std::ifstream file(fmt::format("/proc/{}/mountinfo", process));
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string skipped, word;
        Mount mount;
        words >> skipped >> skipped >> skipped >> mount.root >> mount.point;
        while (words >> word && word != "-") {
        }
        words >> mount.type;
        mount.point = unescaped(mount.point);
        mount.root = unescaped(mount.root);
        out.push_back(std::move(mount));
    }
    return out;
}

// The root folder of the whole hierarchy has this inode (cgroup_setup_root() in kernel/cgroup/cgroup.c). The `root`
// field of mountinfo does not help: in a cgroup namespace it is relative to the namespace's root (`/../..`).
constexpr ino_t first_group = 1;

bool is_whole(const std::string& folder) {
    struct stat status{};
    return stat(folder.c_str(), &status) == 0 && status.st_ino == first_group;
}

// Returns the path at which a process sees the whole hierarchy. Otherwise, if `part_will_do`, returns a mount that
// shows a part. Later mounts cover earlier ones, so the last mount counts.
std::string group_mount(const std::string& process, const std::string& root, bool part_will_do) {
    std::string whole, part;
    std::error_code error;
    for (const Mount& mount : read_mounts(process)) {
        const std::string folder = root + mount.point;
        if (mount.type == "cgroup2" && std::filesystem::exists(folder + "/cgroup.procs", error))
            (is_whole(folder) ? whole : part) = folder;
    }
    return whole.empty() && part_will_do ? part : whole;
}

// Returns whether the process is in the initial cgroup namespace.
bool sees_all_groups(const std::string& process) {
    constexpr ino_t initial = 0xeffffffb; // PROC_CGROUP_INIT_INO, include/linux/proc_ns.h
    struct stat space{};
    return stat(fmt::format("/proc/{}/ns/cgroup", process).c_str(), &space) == 0 && space.st_ino == initial;
}

// Adds the folder and all folders below, parents first. Skips folders that are removed meanwhile.
void add_folders(const std::string& mounted, const std::string& path, uint64_t parent,
                 std::vector<GroupFolder>& folders) {
    struct stat status{};
    const std::string folder = mounted + path;
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
        return;
    folders.push_back({status.st_ino, parent, path.empty() ? "/" : path});
    std::error_code error;
    std::vector<std::string> below;
    for (auto entry = std::filesystem::directory_iterator(folder, error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
        if (std::error_code gone; entry->symlink_status(gone).type() == std::filesystem::file_type::directory)
            below.push_back(entry->path().filename());
    std::ranges::sort(below);
    for (const std::string& name : below)
        add_folders(mounted, fmt::format("{}/{}", path, name), status.st_ino, folders);
}

} // namespace

const GroupFolder* GroupTree::find(const std::string& path) const {
    const auto found = std::ranges::find(folders, path, &GroupFolder::path);
    return found == folders.end() ? nullptr : &*found;
}

// A container usually sees only its own part of the hierarchy. So try three places: this process' own mounts, those
// of process 1 (the machine's first process if the container shares the machine's PID namespace), and at last the
// visible part.
Result<std::string> find_group_mount() {
    if (std::string own = group_mount("self", "", false); !own.empty())
        return own;
    if (std::string first = group_mount("1", "/proc/1/root", false); !first.empty())
        return first;
    if (std::string part = group_mount("self", "", true); !part.empty())
        return part;
    if (has_old_groups())
        return Error("only control groups of version 1 are mounted, but sonde needs version 2; run `mkdir /run/cgroup2 "
                     "&& mount -t cgroup2 none /run/cgroup2` (processes that already run have no groups there), or "
                     "boot with `systemd.unified_cgroup_hierarchy=1`");
    return Error("control groups are not mounted; run `mount -t cgroup2 none /sys/fs/cgroup`, or give the container "
                 "the machine's /sys/fs/cgroup");
}

Result<GroupTree> read_group_tree(const std::string& mounted) {
    GroupTree out;
    out.mounted = mounted;
    add_folders(mounted, "", 0, out.folders);
    if (out.folders.empty())
        return Error(fmt::format("cannot read the control groups at `{}`", mounted));
    struct statfs status{};
    out.is_part = statfs(mounted.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC &&
                  out.folders[0].number != first_group;
    return out;
}

bool has_old_groups() {
    return std::ranges::any_of(read_mounts("self"), [](const Mount& mount) { return mount.type == "cgroup"; });
}

// Reads the folders again instead of using a GroupTree: groups below may have been created since.
std::vector<int64_t> processes_in(const std::string& mounted, const std::string& path) {
    std::vector<int64_t> out;
    std::vector<GroupFolder> folders;
    add_folders(mounted, path == "/" ? "" : path, 0, folders);
    for (const GroupFolder& folder : folders) {
        std::ifstream file(mounted + folder.path + "/cgroup.procs");
        for (int64_t process = 0; file >> process;)
            if (process > 0) // 0: the process is outside of this PID namespace
                out.push_back(process);
    }
    return out;
}

std::string group_of_process(const std::string& mounted, int64_t process) {
    // In a cgroup namespace, /proc/PID/cgroup has paths relative to the namespace's root. So search all groups instead.
    if (!sees_all_groups("self")) {
        std::vector<GroupFolder> folders;
        add_folders(mounted, "", 0, folders);
        for (const GroupFolder& folder : folders) {
            std::ifstream file(mounted + folder.path + "/cgroup.procs");
            for (int64_t one = 0; file >> one;)
                if (one == process)
                    return folder.path;
        }
        return "";
    }
    std::ifstream file(fmt::format("/proc/{}/cgroup", process));
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("0::"))
            return line.substr(3);
    return "";
}

bool is_in_group(const std::string& path, const std::string& group) {
    return group == "/" || path == group || path.starts_with(group + "/");
}

} // namespace sonde
