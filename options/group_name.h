// Control groups that a session is limited to.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::plan {

// Names that people use for a control group (cgroup v2).
enum class GroupKind : uint8_t { Container, Pod, Unit, Cgroup };
// A group that the session is limited to. A plan has its name; the group is looked up when a session begins.
struct GroupName {
    GroupKind kind = GroupKind::Container;
    std::string name;
    // Below this path, such as "/proc/42/root", lie the points that were found in the group's file system when the
    // script was translated. Empty: no point was found there.
    std::string root;
    bool operator==(const GroupName&) const = default;
};

} // namespace sonde::plan
