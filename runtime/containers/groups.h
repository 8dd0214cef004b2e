// Control groups by what people call them: containers, pods, systemd's units, paths.
//
// A picture is what there is at a moment: the hierarchy's folders, and what runtimes have written down. All that is
// said of groups is read off a picture; a session takes another one when a group was made.
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

struct GroupPicture {
    GroupTree tree;
    std::vector<GroupIdentity> identities; // of tree.folders, in their order
    std::vector<ContainerRecord> records;

    const ContainerRecord* record_of(const std::string& container) const; // null: there is none
};

// Errors as find_group_mount() and read_group_tree().
Result<GroupPicture> take_group_picture();
// The same from these places.
Result<GroupPicture> take_group_picture(const std::string& mounted, const std::vector<std::string>& roots);

// The groups that are meant: indices in tree.folders, none of them below another. Errors: it is not there, with what
// there is and how to go on; the name stands for several.
Result<std::vector<size_t>> find_groups(const GroupPicture& picture, const plan::GroupName& wanted);

// A group's names as handlers give them; empty ones are not so.
struct GroupTexts {
    std::string container, pod, unit, cgroup;
    bool is_final = true; // false: it is a container of which nothing is written down yet
};
GroupTexts name_group(const GroupPicture& picture, size_t folder);
// The same as the kernel's side keeps it; what is too long is cut.
sonde_group_names pack_names(const GroupTexts& texts);

// "the container `web`"; several as "the containers `a` and `b`".
std::string describe_groups(const std::vector<plan::GroupName>& groups);
// "--container": the option that names groups of that kind.
const char* option_of(plan::GroupKind kind);

// The folders through which the file systems of a group's processes are reached, "/proc/PID/root": each file system
// once, a pod has as many as containers. "" where it is that of here, or where no process is in a unit or a group that
// says otherwise. Errors: no process is in a container or pod.
Result<std::vector<std::string>> roots_of_group(const GroupPicture& picture, const plan::GroupName& wanted);
// The first of them.
Result<std::string> root_of_group(const GroupPicture& picture, const plan::GroupName& wanted);
// $PATH of the process whose root that is; the usual one if it has none.
std::string search_path_at(const std::string& root);

} // namespace sonde
