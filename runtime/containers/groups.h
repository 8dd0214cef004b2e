// Finds control groups by the names that people use: containers, pods, systemd units and paths.
//
// A name has to be translated in two steps. The container runtime's files map the name `web` to an id, and the
// hierarchy of control groups has a folder with this id. Both can change at any time, so a "picture" holds both as they
// are at one moment, and all functions work on a picture. A session takes a new picture when a group is created.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/containers/group_path.h"
#include "runtime/containers/group_tree.h"
#include "runtime/containers/records.h"
#include "runtime/plan/group_names.h"
#include "runtime/plan/plan.h"

namespace sonde {

// All groups with their owners, and the runtimes' records, at one moment.
struct GroupPicture {
    GroupTree tree;
    std::vector<GroupIdentity> identities; // of tree.folders, in the same order
    std::vector<ContainerRecord> records;

    const ContainerRecord* record_of(const std::string& container) const; // null if none exists
};

// Reads the current groups. Errors are those of find_group_mount() and read_group_tree().
Result<GroupPicture> take_group_picture();
// Does the same with a given hierarchy, and the runtimes' files below these root folders.
Result<GroupPicture> take_group_picture(const std::string& mounted, const std::vector<std::string>& roots);

// Returns the groups with this name, as indices of tree.folders. None of them is below another. Returns an error if the
// name is unknown, with the existing names, or if it is ambiguous.
Result<std::vector<size_t>> find_groups(const GroupPicture& picture, const plan::GroupName& wanted);

// The names of a group, as handlers return them. A name is empty if it does not apply.
struct GroupTexts {
    std::string container, pod, unit, cgroup;
    bool is_final = true; // false: the runtime has not yet written the container's files
};
GroupTexts name_group(const GroupPicture& picture, size_t folder);
// Converts the names to the form of the map `sonde_group_names`. Cuts names that are too long.
sonde_group_names pack_names(const GroupTexts& texts);

// Returns a text for messages: "the container `web`", or "the container `a` and the container `b`".
std::string describe_groups(const std::vector<plan::GroupName>& groups);
// Returns the option for this kind of name, such as "--container".
const char* option_of(plan::GroupKind kind);

// Returns the root folders of the group's processes, such as "/proc/42/root", to find their programs. Each file system
// occurs once; a pod has several. "" stands for this process' own root, also for a unit or path without processes.
// Returns an error for a container or pod without processes.
Result<std::vector<std::string>> roots_of_group(const GroupPicture& picture, const plan::GroupName& wanted);
// Returns the first root folder.
Result<std::string> root_of_group(const GroupPicture& picture, const plan::GroupName& wanted);
// Returns $PATH of the process that a root folder belongs to, or the usual value if the process has no $PATH.
std::string search_path_at(const std::string& root);

} // namespace sonde
