// Derives from a control group's path which container, pod or unit it belongs to.
//
// There are two ways to create groups. With the systemd driver, a container is a scope whose name has the runtime's
// prefix:
//
//     /machine.slice/libpod-ID.scope/container
//
// With the cgroupfs driver, the runtime creates plain folders, with the id alone:
//
//     /kubepods/burstable/podUID/ID
//
// An id has 64 hexadecimal digits, so it is not confused with other names. In names of slices, `-` separates levels, so
// Kubernetes writes the pod's uid with `_` there.
#include "runtime/containers/group_path.h"

#include <algorithm>
#include <array>
#include <optional>

namespace sonde {
namespace {

constexpr size_t id_digits = 64;

// Returns the text between `before` and `after`, or nothing if the text does not begin and end that way.
std::optional<std::string_view> between(std::string_view text, std::string_view before, std::string_view after) {
    if (text.size() < before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after))
        return std::nullopt;
    return text.substr(before.size(), text.size() - before.size() - after.size());
}

struct Prefix {
    std::string_view name, runtime;
};
constexpr std::array<Prefix, 5> prefixes = {{{"libpod-", "podman"},
                                             {"docker-", "docker"},
                                             {"cri-containerd-", "containerd"},
                                             {"nerdctl-", "containerd"},
                                             {"crio-", "cri-o"}}};

// Stores the container's id if the folder's name contains one. `above` is the name of the parent folder.
void identify_container(std::string_view name, std::string_view above, GroupIdentity& out) {
    if (name.ends_with(".scope"))
        name.remove_suffix(std::string_view(".scope").size());
    for (const Prefix& prefix : prefixes)
        if (std::optional<std::string_view> id = between(name, prefix.name, ""); id && is_whole_container_id(*id)) {
            out.container = *id;
            out.runtime = prefix.runtime;
            return;
        }
    if (!is_whole_container_id(name))
        return;
    out.container = name;
    out.runtime = above == "docker" ? "docker" : "";
}

// Stores the pod's id if the folder's name contains one. `in_kubepods` means that a parent folder belongs to
// Kubernetes.
void identify_pod(std::string_view name, bool in_kubepods, GroupIdentity& out) {
    const bool is_slice = name.ends_with(".slice");
    const std::string_view plain = is_slice ? name.substr(0, name.size() - std::string_view(".slice").size()) : name;
    constexpr std::string_view kube = "-pod", podman = "libpod_pod_";
    if (const size_t at = plain.find(podman); at != std::string_view::npos) {
        out.pod = plain.substr(at + podman.size());
    } else if (const size_t begin = plain.rfind(kube);
               is_slice && plain.starts_with("kubepods") && begin != std::string_view::npos) {
        out.pod = plain.substr(begin + kube.size());
        std::ranges::replace(out.pod, '_', '-'); // in names of slices, `-` separates levels
    } else if (in_kubepods && !is_slice && plain.starts_with("pod") && plain.size() > 3) {
        out.pod = plain.substr(3);
    }
}

} // namespace

bool is_container_id(std::string_view text) {
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return !text.empty() && text.size() <= id_digits && std::ranges::all_of(text, is_digit);
}

bool is_whole_container_id(std::string_view text) { return text.size() == id_digits && is_container_id(text); }

// Walks from the root to the group, so that the innermost container, pod and unit remain.
GroupIdentity identify_group(std::string_view path) {
    GroupIdentity out;
    std::string_view above;
    bool in_kubepods = false;
    while (!path.empty()) {
        const size_t slash = path.find('/');
        std::string_view name = path.substr(0, slash);
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
        if (name.empty())
            continue;
        if (name.starts_with('_')) // systemd adds this if a unit's name equals one of the kernel's files
            name.remove_prefix(1);
        identify_container(name, above, out);
        identify_pod(name, in_kubepods, out);
        for (std::string_view suffix : {".service", ".scope", ".socket", ".mount", ".swap"})
            if (name.ends_with(suffix))
                out.unit = name;
        in_kubepods = in_kubepods || name.starts_with("kubepods");
        above = name;
    }
    return out;
}

} // namespace sonde
