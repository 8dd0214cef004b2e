// Control groups that a session is limited to.
#pragma once

#include <cstdint>
#include <string>

namespace sonde::plan {

// Kinds of names for a control group (cgroup v2).
enum class GroupKind : uint8_t { Container, Pod, Unit, Cgroup };
// A group that limits the session. A plan stores the name; each session looks up the group when it begins.
struct GroupName {
    GroupKind kind = GroupKind::Container;
    std::string name;
    // The root directory of the group's processes, such as "/proc/42/root". Points that sonde found in the group's file
    // system lie below this path. Empty: sonde found no point there.
    std::string root;
    bool operator==(const GroupName&) const = default;
};

} // namespace sonde::plan
