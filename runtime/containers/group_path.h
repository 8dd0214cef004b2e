// Derives from a control group's path which container, pod or unit it belongs to. systemd and the container runtimes
// encode ids and names in the folders' names.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// The owner of a control group. Members are empty if the path does not show them.
struct GroupIdentity {
    std::string container; // the container's id
    std::string runtime;   // "podman", "docker", "containerd", "cri-o"
    std::string pod;       // for Kubernetes the pod's uid, for podman the pod's id
    std::string unit;      // the innermost unit that contains processes: "nginx.service", "session-2.scope"
};

// Identifies the group at `path`, which begins at the hierarchy's root. The innermost container, pod and unit count.
// Supports the names of each runtime's systemd driver and cgroupfs driver. ID stands for 64 hexadecimal digits:
//
//   libpod-ID.scope docker-ID.scope cri-containerd-ID.scope nerdctl-ID.scope crio-ID.scope ID
//   kubepods-burstable-podUID.slice (with `_` instead of `-`), kubepods/burstable/podUID, machine-libpod_pod_ID.slice
//
// For example, "/machine.slice/libpod-ID.scope/container" belongs to the podman container ID and the unit
// "libpod-ID.scope".
GroupIdentity identify_group(std::string_view path);

// Returns whether the text can be a container's id, or the beginning of one.
bool is_container_id(std::string_view text);
// Returns whether the text can be a complete id: 64 hexadecimal digits.
bool is_whole_container_id(std::string_view text);

} // namespace sonde
