// Reads the files in which container runtimes store the names and pods of their containers.
//
// The files are better than asking a daemon: podman does not have one. They also describe the containers of all
// users, and are readable from inside of a privileged container.
//
// Users can write some of these files, so their contents are not trusted. Unexpected contents are skipped. If two
// records have the same id, the first one counts, and root's files are read before those of users.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// A container as its runtime describes it.
struct ContainerRecord {
    std::string id;
    std::string name; // for a container in a pod, its name in the pod; empty if it has none
    std::string runtime;
    std::string pod_space, pod_name, pod_uid; // for Kubernetes; empty if the container is not in a pod
    std::string group; // its control group if the group's path does not contain the id; otherwise empty
};

// Reads the files of all runtimes. `roots` are folders below which the files are searched: "" is this process' own
// root, "/proc/1/root" the machine's.
std::vector<ContainerRecord> read_container_records(const std::vector<std::string>& roots);

// The following functions parse the contents of single files. They return nothing if the contents are invalid. podman
// and CRI-O: `containers.json` of containers/storage.
std::vector<ContainerRecord> parse_storage(std::string_view text);
// docker: /var/lib/docker/containers/ID/config.v2.json
std::vector<ContainerRecord> parse_docker(std::string_view text);
// containerd and CRI-O: config.json of an OCI bundle, for the container `id`.
std::vector<ContainerRecord> parse_bundle(std::string_view text, const std::string& id, const std::string& runtime);

} // namespace sonde
