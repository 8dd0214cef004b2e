// Who a control group is, by its path alone. systemd and the container runtimes give their groups names that tell.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Empty: the path does not tell.
struct GroupIdentity {
    std::string container; // its id
    std::string runtime;   // "podman", "docker", "containerd", "cri-o"
    std::string pod;       // its uid, as Kubernetes writes it; of podman's pods the id
    std::string unit;      // the innermost unit that has processes of its own: "nginx.service", "session-2.scope"
};

// `path`: from the hierarchy's root on. Of groups in one another the innermost counts. Known are the names of systemd's
// and of the cgroupfs driver of each runtime:
//   libpod-ID.scope docker-ID.scope cri-containerd-ID.scope nerdctl-ID.scope crio-ID.scope; ID (64 hexadecimal digits)
//   kubepods-burstable-podUID.slice (its `-` are `_`) and kubepods/burstable/podUID; machine-libpod_pod_ID.slice
GroupIdentity identify_group(std::string_view path);

// Whether it is a container's id, or the beginning of one.
bool is_container_id(std::string_view text);
bool is_whole_container_id(std::string_view text);

} // namespace sonde
