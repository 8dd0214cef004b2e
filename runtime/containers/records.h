// What container runtimes write down of their containers: names, and pods. Their files are read, no daemon is asked, so
// that it works without one (podman), for every user's containers, and from inside of a privileged container.
//
// The files are others' data, users' among them: what is not as expected is passed over, and of two records with one id
// the first counts, root's before users'.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct ContainerRecord {
    std::string id;
    std::string name; // of a container in a pod its name in there; empty: it has none
    std::string runtime;
    std::string pod_space, pod_name, pod_uid; // Kubernetes; empty: it is in no pod
    std::string group; // its control group, where the id is none that the group's path is known by; else empty
};

// `roots`: folders in whose places of the runtimes to look: "" is this process' own root, "/proc/1/root" the machine's.
std::vector<ContainerRecord> read_container_records(const std::vector<std::string>& roots);

// The texts of single files; empty for what is none.
// podman and CRI-O: containers/storage's `containers.json`.
std::vector<ContainerRecord> parse_storage(std::string_view text);
// docker: /var/lib/docker/containers/ID/config.v2.json.
std::vector<ContainerRecord> parse_docker(std::string_view text);
// containerd and CRI-O: an OCI bundle's config.json, of the container `id`.
std::vector<ContainerRecord> parse_bundle(std::string_view text, const std::string& id, const std::string& runtime);

} // namespace sonde
