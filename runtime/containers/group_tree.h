// Reads the folders of the unified hierarchy (cgroup v2). The kernel identifies a group by the inode of its folder,
// which is also the result of bpf_get_current_cgroup_id().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

// A control group. Its number is the inode of its folder.
struct GroupFolder {
    uint64_t number = 0, parent = 0; // parent: 0 for the root
    std::string path;                // from the hierarchy's root: "/system.slice/nginx.service"
};

// All groups of a hierarchy at one moment.
struct GroupTree {
    std::string mounted;              // the path of the hierarchy's root in this process' mount namespace
    bool is_part = false;             // the container's part of the hierarchy only, without other groups
    std::vector<GroupFolder> folders; // parents before children

    const GroupFolder* find(const std::string& path) const; // null if it does not exist
};

// Returns the path at which the hierarchy is mounted. In a container with its own cgroup namespace, prefers the
// hierarchy of the machine's first process, and otherwise returns the visible part. Returns an error with a solution if
// the hierarchy is not mounted.
Result<std::string> find_group_mount();
// Returns an error if the root folder cannot be read. Skips groups that are removed meanwhile.
Result<GroupTree> read_group_tree(const std::string& mounted);
// Returns whether hierarchies of cgroup v1 are mounted. Their processes may be in no group of the unified hierarchy.
bool has_old_groups();

// Returns the processes in a group and in all groups below.
std::vector<int64_t> processes_in(const std::string& mounted, const std::string& path);
// Returns the path of a process' group in the hierarchy at `mounted`; "" if the process does not exist.
std::string group_of_process(const std::string& mounted, int64_t process);
// Returns whether `path` is the group itself or a group below.
bool is_in_group(const std::string& path, const std::string& group);

} // namespace sonde
