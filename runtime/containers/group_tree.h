// The folders of the unified hierarchy (cgroup v2), as they are now. A group's number, by which the kernel's side knows
// it (bpf_get_current_cgroup_id()), is its folder's inode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

struct GroupFolder {
    uint64_t number = 0, parent = 0; // parent: 0 of the first
    std::string path;                // from the hierarchy's root on: "/system.slice/nginx.service"
};

struct GroupTree {
    std::string mounted;              // the folder of the hierarchy's root, as it is reached from here
    bool is_part = false;             // it is a container's part of the hierarchy: others' groups are not in it
    std::vector<GroupFolder> folders; // those above before those below

    const GroupFolder* find(const std::string& path) const; // null: there is none
};

// Where the hierarchy is mounted. In a container whose cgroup namespace is its own that of the machine's first process
// is taken, if that can be reached; else what the container sees. Errors: it is not mounted, with what to do.
Result<std::string> find_group_mount();
// Errors: the folder cannot be read. What vanishes meanwhile is left out.
Result<GroupTree> read_group_tree(const std::string& mounted);
// Whether the old hierarchies (cgroup v1) are mounted, in which processes may be that are not in this one.
bool has_old_groups();

// The processes in the group and in those below it.
std::vector<int64_t> processes_in(const std::string& mounted, const std::string& path);
// The path of a process' group in the hierarchy at `mounted`; "" if there is no such process.
std::string group_of_process(const std::string& mounted, int64_t process);
// Whether a path is that of the group, or of one below.
bool is_in_group(const std::string& path, const std::string& group);

} // namespace sonde
