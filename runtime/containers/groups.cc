// Finds control groups by the names that people use.
//
// Names are not unique. A container `web` may exist in docker and in podman, a pod `web` in two namespaces, and a unit
// in two users' sessions. sonde never chooses one of several: the error lists all of them, and says how to name the
// right one.
//
// An unknown name is often a spelling mistake, or the container has ended. So errors suggest the nearest name, list the
// running ones, and mention a container that exists but does not run.
//
// Groups can be nested: a container may run containers. Only the outermost group of each container is returned, since
// handlers test a group and all groups below.
#include "runtime/containers/groups.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fd.h"
#include "base/suggest.h"

namespace sonde {
namespace {

constexpr size_t short_id = 12; // characters, as in the output of all runtimes
constexpr size_t most_listed = 12;

std::string shortened(const std::string& id) { return id.substr(0, short_id); }

// Returns a list for messages: "a, b and 3 more".
std::string listed(std::vector<std::string> names) {
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    const size_t more = names.size() > most_listed ? names.size() - most_listed : 0;
    names.resize(names.size() - more);
    return fmt::format("{}{}", fmt::join(names, ", "), more ? fmt::format(" and {} more", more) : "");
}

// Returns the error for an unknown name. It suggests the nearest existing name, or lists all.
Error not_found(const std::string& what, const std::string& name, const std::vector<std::string>& there,
                const std::string& none) {
    std::string message = fmt::format("{} `{}` is not running", what, name);
    if (there.empty())
        return Error(fmt::format("{}; {}", message, none));
    if (std::string nearest = nearest_name(name, there); !nearest.empty())
        message += fmt::format(" (did you mean `{}`?)", nearest);
    return Error(fmt::format("{}; running: {}", message, listed(there)));
}

// Returns a hint for messages if processes may be in groups of cgroup v1 only.
std::string old_groups_hint() {
    return has_old_groups() ? " (sonde ignores control groups of version 1, which are also in use; a runtime that uses "
                              "only these has no groups here)"
                            : "";
}

// Returns a hint for messages if the searched group may exist but be invisible here.
std::string unseen_hint(const GroupPicture& picture) {
    return picture.tree.is_part ? " (sonde is in a container, and sees only that container's groups; start the "
                                  "container with `--privileged --pid=host`)"
                                : old_groups_hint();
}

// Returns the folders of containers: the outermost folder for each container.
std::vector<size_t> container_folders(const GroupPicture& picture) {
    std::vector<size_t> out;
    std::set<std::string> seen;
    for (size_t i = 0; i < picture.identities.size(); i++)
        if (const std::string& id = picture.identities[i].container; !id.empty() && seen.insert(id).second)
            out.push_back(i);
    return out;
}

std::string name_of_container(const GroupPicture& picture, const std::string& id) {
    const ContainerRecord* record = picture.record_of(id);
    return record && !record->name.empty() ? record->name : shortened(id);
}

// Describes one container of several with the same name: "podman 0123456789ab".
std::string one_of_several(const GroupPicture& picture, size_t folder) {
    const GroupIdentity& who = picture.identities[folder];
    const ContainerRecord* record = picture.record_of(who.container);
    const std::string runtime = record ? record->runtime : who.runtime;
    const std::string pod = record && !record->pod_name.empty()
                                ? fmt::format(" in the pod {}/{}", record->pod_space, record->pod_name)
                                : "";
    return fmt::format("{}{}{}{}", runtime, runtime.empty() ? "" : " ", shortened(who.container), pod);
}

// Finds a container by its name, or by the beginning of its id. Containers of several runtimes can share a name;
// then the name is ambiguous. If the container exists but does not run, the error says so.
Result<std::vector<size_t>> find_container(const GroupPicture& picture, const std::string& name) {
    const std::vector<size_t> running = container_folders(picture);
    // A complete name takes precedence over the beginning of an id.
    for (bool by_id : {false, true}) {
        std::vector<size_t> found;
        std::vector<std::string> which;
        for (size_t folder : running) {
            const std::string& id = picture.identities[folder].container;
            if (by_id ? id.starts_with(name) : name_of_container(picture, id) == name) {
                found.push_back(folder);
                which.push_back(one_of_several(picture, folder));
            }
        }
        std::ranges::sort(which);
        if (found.size() > 1)
            return Error(fmt::format("`{}` is {} {} containers: {}; write more of the id", name,
                                     by_id ? "the beginning of the ids of" : "the name of", found.size(),
                                     fmt::join(which, ", ")));
        if (!found.empty())
            return found;
    }
    for (const ContainerRecord& record : picture.records)
        if (record.name == name || (is_container_id(name) && record.id.starts_with(name)))
            return Error(fmt::format("the container `{}` ({} {}) is not running; start it first{}", name,
                                     record.runtime, shortened(record.id), unseen_hint(picture)));
    std::vector<std::string> names;
    for (size_t folder : running)
        names.push_back(name_of_container(picture, picture.identities[folder].container));
    return not_found("container", name, names, "no container is running" + unseen_hint(picture));
}

// Finds a pod by its name, `namespace/name`, or the beginning of its id. Uses the pod's own group if the path shows
// one, and otherwise the groups of its containers.
Result<std::vector<size_t>> find_pod(const GroupPicture& picture, const std::string& name) {
    const size_t slash = name.find('/');
    const std::string space = slash == std::string::npos ? "" : name.substr(0, slash);
    const std::string pod = slash == std::string::npos ? name : name.substr(slash + 1);
    std::set<std::string> containers, uids, spaces;
    std::vector<std::string> there;
    for (const ContainerRecord& record : picture.records) {
        if (record.pod_name.empty())
            continue;
        there.push_back(fmt::format("{}/{}", record.pod_space, record.pod_name));
        if (record.pod_name != pod || (!space.empty() && record.pod_space != space))
            continue;
        containers.insert(record.id);
        uids.insert(record.pod_uid);
        spaces.insert(record.pod_space);
    }
    if (spaces.size() > 1)
        return Error(fmt::format("the pod `{}` is in the namespaces {}; choose one, as `--pod {}/{}`", pod,
                                 fmt::join(spaces, ", "), *spaces.begin(), pod));
    std::vector<size_t> found;
    for (size_t i = 0; i < picture.identities.size(); i++) {
        const GroupIdentity& who = picture.identities[i];
        const bool is_below = std::ranges::any_of(found, [&](size_t above) {
            return is_in_group(picture.tree.folders[i].path, picture.tree.folders[above].path);
        });
        const bool by_pod = !who.pod.empty() && who.container.empty() &&
                            (uids.contains(who.pod) || (is_container_id(pod) && who.pod.starts_with(pod)));
        if (!is_below && (by_pod || (!who.container.empty() && containers.contains(who.container))))
            found.push_back(i);
        if (!who.pod.empty() && who.container.empty() && picture.records.empty())
            there.push_back(who.pod);
    }
    if (!found.empty())
        return found;
    if (!containers.empty())
        return Error(fmt::format("the pod `{}` is not running here; it may be on another node", name));
    return not_found("pod", name, there, "no pod is running" + unseen_hint(picture));
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Finds a systemd unit. Units of different users can have the same name, for example `app.service` in several user
// sessions; then the name is ambiguous.
Result<std::vector<size_t>> find_unit(const GroupPicture& picture, const std::string& name) {
    const bool has_type = name.find('.') != std::string::npos;
    const std::string unit = has_type ? name : name + ".service"; // as systemctl does
    std::vector<size_t> found;
    std::vector<std::string> there, paths;
    for (size_t i = 0; i < picture.tree.folders.size(); i++) {
        const std::string part = last_part(picture.tree.folders[i].path);
        if (part == unit || part == "_" + unit) {
            found.push_back(i);
            paths.push_back(picture.tree.folders[i].path);
        }
        if (part.ends_with(".service") || part.ends_with(unit.substr(unit.rfind('.'))))
            there.push_back(part);
    }
    if (found.size() > 1)
        return Error(fmt::format("the unit `{}` is running {} times; choose one with --cgroup: {}", unit, found.size(),
                                 fmt::join(paths, ", ")));
    if (!found.empty())
        return found;
    Error missing = not_found("unit", unit, there, "no unit is running" + unseen_hint(picture));
    return Error(
        fmt::format("{}\n  start the unit first, or trace its slice: `--cgroup /system.slice`", missing.message));
}

Result<std::vector<size_t>> find_cgroup(const GroupPicture& picture, const std::string& name) {
    std::string path = std::filesystem::path("/" + name).lexically_normal();
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    const bool is_absolute = name.starts_with('/');
    std::vector<std::string> there;
    for (const GroupFolder& folder : picture.tree.folders)
        there.push_back(folder.path);
    // Accept a path on the file system (/sys/fs/cgroup/a) and a path from the hierarchy's root (/a).
    if (is_absolute && is_in_group(path, picture.tree.mounted)) {
        path = path.substr(picture.tree.mounted.size());
        path = path.empty() ? "/" : path;
    }
    const auto found = std::ranges::find(there, path);
    if (found != there.end())
        return std::vector<size_t>{static_cast<size_t>(found - there.begin())};
    std::error_code error;
    if (is_absolute && std::filesystem::is_directory(name, error))
        return Error(fmt::format("`{}` is not a control group of version 2: it is outside of the hierarchy at {}", name,
                                 picture.tree.mounted));
    std::vector<std::string> beside;
    const std::string above = path.substr(0, path.rfind('/'));
    for (const std::string& one : there)
        if (one.size() > 1 && one.substr(0, one.rfind('/')) == above)
            beside.push_back(one);
    const std::string nearest = nearest_name(path, beside.empty() ? there : beside);
    std::string message = fmt::format("control group `{}` does not exist below {}", path, picture.tree.mounted);
    if (!nearest.empty())
        message += fmt::format(" (did you mean `{}`?)", nearest);
    if (!beside.empty())
        message += fmt::format("; existing: {}", listed(beside));
    return Error(message);
}

void copy_text(char* to, size_t size, const std::string& text) { std::snprintf(to, size, "%s", text.c_str()); }

} // namespace

const ContainerRecord* GroupPicture::record_of(const std::string& container) const {
    const auto found = std::ranges::find(records, container, &ContainerRecord::id);
    return found == records.end() ? nullptr : &*found;
}

Result<GroupPicture> take_group_picture() {
    Result<std::string> mounted = find_group_mount();
    if (!mounted)
        return std::move(mounted).error();
    std::vector<std::string> roots = {""};
    std::error_code error;
    const auto space = [&](const char* process) {
        return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/mnt", process), error).string();
    };
    // A container can see the machine's processes but have its own mount namespace. Then the runtimes' files are on the
    // machine's file system.
    if (const std::string first = space("1"); !first.empty() && first != space("self"))
        roots.emplace_back("/proc/1/root");
    return take_group_picture(*mounted, roots);
}

Result<GroupPicture> take_group_picture(const std::string& mounted, const std::vector<std::string>& roots) {
    Result<GroupTree> tree = read_group_tree(mounted);
    if (!tree)
        return std::move(tree).error();
    GroupPicture out;
    out.tree = *std::move(tree);
    for (const GroupFolder& folder : out.tree.folders)
        out.identities.push_back(identify_group(folder.path));
    out.records = read_container_records(roots);
    for (const ContainerRecord& record : out.records)
        if (!record.group.empty())
            for (size_t i = 0; i < out.identities.size(); i++)
                if (is_in_group(out.tree.folders[i].path, record.group) && out.identities[i].container.empty()) {
                    out.identities[i].container = record.id;
                    out.identities[i].runtime = record.runtime;
                }
    return out;
}

Result<std::vector<size_t>> find_groups(const GroupPicture& picture, const plan::GroupName& wanted) {
    Result<std::vector<size_t>> found = wanted.kind == plan::GroupKind::Container ? find_container(picture, wanted.name)
                                        : wanted.kind == plan::GroupKind::Pod     ? find_pod(picture, wanted.name)
                                        : wanted.kind == plan::GroupKind::Unit    ? find_unit(picture, wanted.name)
                                                                                  : find_cgroup(picture, wanted.name);
    if (!found)
        return std::move(found).error().in(fmt::format("{} {}", option_of(wanted.kind), wanted.name));
    return found;
}

// A runtime creates the group before it writes the container's files. So the name of a new container can be its id
// at first, and is_final is false.
GroupTexts name_group(const GroupPicture& picture, size_t folder) {
    const GroupIdentity& who = picture.identities[folder];
    GroupTexts out;
    out.cgroup = picture.tree.folders[folder].path;
    out.unit = who.unit;
    out.pod = who.pod;
    if (!who.container.empty()) {
        out.container = name_of_container(picture, who.container);
        out.is_final = picture.record_of(who.container) != nullptr;
    }
    for (const ContainerRecord& record : picture.records)
        if (!record.pod_name.empty() && (record.id == who.container || (!who.pod.empty() && record.pod_uid == who.pod)))
            out.pod = fmt::format("{}/{}", record.pod_space, record.pod_name);
    return out;
}

sonde_group_names pack_names(const GroupTexts& texts) {
    sonde_group_names out{};
    copy_text(out.container, sizeof out.container, texts.container);
    copy_text(out.pod, sizeof out.pod, texts.pod);
    copy_text(out.unit, sizeof out.unit, texts.unit);
    copy_text(out.cgroup, sizeof out.cgroup, texts.cgroup);
    return out;
}

std::string describe_groups(const std::vector<plan::GroupName>& groups) {
    std::vector<std::string> texts;
    for (const plan::GroupName& group : groups)
        texts.push_back(fmt::format("the {} `{}`",
                                    group.kind == plan::GroupKind::Container ? "container"
                                    : group.kind == plan::GroupKind::Pod     ? "pod"
                                    : group.kind == plan::GroupKind::Unit    ? "unit"
                                                                             : "control group",
                                    group.name));
    return fmt::format("{}", fmt::join(texts, " and "));
}

const char* option_of(plan::GroupKind kind) {
    return kind == plan::GroupKind::Container ? "--container"
           : kind == plan::GroupKind::Pod     ? "--pod"
           : kind == plan::GroupKind::Unit    ? "--unit"
                                              : "--cgroup";
}

Result<std::vector<std::string>> roots_of_group(const GroupPicture& picture, const plan::GroupName& wanted) {
    Result<std::vector<size_t>> found = find_groups(picture, wanted);
    if (!found)
        return std::move(found).error();
    struct stat own{}, other{};
    stat("/", &own);
    std::vector<std::string> out;
    std::set<std::pair<dev_t, ino_t>> seen;
    for (size_t folder : *found)
        for (int64_t process : processes_in(picture.tree.mounted, picture.tree.folders[folder].path)) {
            std::string root = fmt::format("/proc/{}/root", process);
            if (stat((root + "/").c_str(), &other) != 0)
                continue; // it has ended, or is not accessible
            if (seen.insert({other.st_dev, other.st_ino}).second)
                out.push_back(other.st_dev == own.st_dev && other.st_ino == own.st_ino ? "" : root);
        }
    if (!out.empty())
        return out;
    // The programs in an empty unit or group are unknown, so use the machine's file system. But a container without
    // processes is not running.
    if (wanted.kind == plan::GroupKind::Unit || wanted.kind == plan::GroupKind::Cgroup)
        return std::vector<std::string>{""};
    return Error("it has no process with a readable file system")
        .in(fmt::format("{} {}", option_of(wanted.kind), wanted.name));
}

Result<std::string> root_of_group(const GroupPicture& picture, const plan::GroupName& wanted) {
    Result<std::vector<std::string>> roots = roots_of_group(picture, wanted);
    return roots ? Result<std::string>(std::move(roots->front())) : std::move(roots).error();
}

std::string search_path_at(const std::string& root) {
    constexpr const char* usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    Result<std::string> environment = read_file(root.substr(0, root.rfind('/')) + "/environ");
    if (!environment)
        return usual;
    for (size_t at = 0; at < environment->size();) {
        const std::string one = environment->c_str() + at;
        if (one.starts_with("PATH="))
            return one.substr(5);
        at += one.size() + 1;
    }
    return usual;
}

} // namespace sonde
