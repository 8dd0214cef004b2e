// Reads the files of container runtimes.
//
//     podman, CRI-O    /var/lib/containers/storage/*-containers/containers.json
//     docker           /var/lib/docker/containers/ID/config.v2.json
//     containerd       /run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json
//
// Names of Kubernetes' pods are in annotations or labels of the containers. Each runtime uses other names for these
// (first_of()).
//
// The folders can be configured. So the configuration files are read first, but only for the one setting with the
// folder. A complete TOML parser is not necessary for that.
//
// What would break this: trust in the files. A user can write the files of his rootless podman, and choose the id of
// another user's container there. So root's files are read first, and later records only add members that are still
// missing.
#include "runtime/containers/records.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/glob.h"
#include "runtime/containers/group_path.h"
#include "runtime/text/json.h"

namespace sonde {
namespace {

constexpr off_t largest = 32 << 20; // maximum size of a file in bytes

// Reads a file. Returns "" for anything but a regular file, because opening a pipe would wait for its writer.
std::string read_state(const std::string& path) {
    struct stat status{};
    Result<Fd> file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file || fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > largest)
        return "";
    Result<std::string> text = read_all(file->get(), path);
    return text ? *std::move(text) : "";
}

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

// Returns a string member; "" if it does not exist.
std::string text_of(const Json& object, const char* name) {
    if (!object.is_object())
        return "";
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& member(const Json& object, const char* name) {
    static const Json none;
    if (!object.is_object())
        return none;
    const auto found = object.find(name);
    return found != object.end() ? *found : none;
}

// Returns the first string member that exists and is not empty.
std::string first_of(const Json& object, std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (std::string text = text_of(object, name); !text.empty())
            return text;
    return "";
}

// Parses the name that kubelet gives to a container: k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT. No part contains a `_`.
void take_kubelet_name(const std::string& name, ContainerRecord& out) {
    std::vector<std::string> parts;
    std::istringstream words(name);
    for (std::string part; std::getline(words, part, '_');)
        parts.push_back(part);
    if (parts.size() != 6 || parts[0] != "k8s")
        return;
    out.name = parts[1];
    out.pod_name = parts[2];
    out.pod_space = parts[3];
    out.pod_uid = parts[4];
}

// Returns a setting from a TOML file (`graphroot = "/srv/containers"`) or a JSON file (`"data-root": "/srv/docker"`).
// Reads single lines only, which is enough for these files.
std::string setting_in(const std::string& text, std::string_view name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const size_t begin = line.find_first_not_of(" \t\"{");
        if (begin == std::string::npos || !std::string_view(line).substr(begin).starts_with(name))
            continue;
        const size_t open = line.find_first_of("\"'", line.find_first_of("=:", begin + name.size()));
        const size_t close = open == std::string::npos ? open : line.find(line[open], open + 1);
        if (close != std::string::npos)
            return line.substr(open + 1, close - open - 1);
    }
    return "";
}

// Names are printed on terminals, and users can write some of the files.
bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// Collects records from several files, one for each container id.
class Records {
  public:
    void add(std::vector<ContainerRecord> records) {
        for (ContainerRecord& record : records) {
            for (std::string* text : {&record.name, &record.pod_space, &record.pod_name})
                std::ranges::replace_if(*text, is_control, '?');
            if (const auto known = by_id_.find(record.id); known == by_id_.end())
                by_id_.emplace(record.id, out_.size()), out_.push_back(std::move(record));
            else
                complete(out_[known->second], record);
        }
    }
    bool lacks_pod(const std::string& id) const {
        const auto known = by_id_.find(id);
        return known != by_id_.end() && out_[known->second].pod_name.empty();
    }
    const std::vector<ContainerRecord>& all() const { return out_; }
    std::vector<ContainerRecord> take() { return std::move(out_); }

  private:
    // Several files may describe the same container. Adds the members that are missing so far.
    static void complete(ContainerRecord& known, const ContainerRecord& other) {
        if (known.runtime != other.runtime)
            return;
        if (known.name.empty())
            known.name = other.name;
        if (known.pod_name.empty()) {
            known.pod_name = other.pod_name;
            known.pod_space = other.pod_space;
            known.pod_uid = other.pod_uid;
        }
    }
    std::vector<ContainerRecord> out_;
    std::map<std::string, size_t> by_id_;
};

// Reads the container lists of podman and CRI-O.
void read_storage(const std::string& folder, Records& out) {
    for (const std::string& path : expand_path_glob(folder + "/*-containers/containers.json"))
        out.add(parse_storage(read_state(path)));
}

// Reads the bundles of CRI-O's containers whose pod is not in `containers.json`.
void read_storage_bundles(const std::string& folder, Records& out) {
    std::vector<std::string> wanted;
    for (const ContainerRecord& record : out.all())
        if (record.runtime == "cri-o" && out.lacks_pod(record.id))
            wanted.push_back(record.id);
    for (const std::string& id : wanted)
        for (const std::string& path :
             expand_path_glob(fmt::format("{}/*-containers/{}/userdata/config.json", folder, id)))
            out.add(parse_bundle(read_state(path), id, "cri-o"));
}

// Reads all files of root's containers below one root folder, in their usual or configured places.
void read_root(const std::string& root, Records& out) {
    std::string storage = setting_in(read_state(root + "/etc/containers/storage.conf"), "graphroot");
    if (storage.empty() || storage[0] != '/')
        storage = "/var/lib/containers/storage";
    read_storage(root + storage, out);
    read_storage_bundles(root + storage, out);
    read_storage_bundles(root + "/run/containers/storage", out);

    std::string docker = setting_in(read_state(root + "/etc/docker/daemon.json"), "data-root");
    if (docker.empty() || docker[0] != '/')
        docker = "/var/lib/docker";
    for (const std::string& path : expand_path_glob(root + docker + "/containers/*/config.v2.json"))
        out.add(parse_docker(read_state(path)));

    for (const char* folder : {"/run/containerd", "/run/k3s/containerd"})
        for (const std::string& path :
             expand_path_glob(root + folder + "/io.containerd.runtime.v2.task/*/*/config.json")) {
            const std::filesystem::path bundle = std::filesystem::path(path).parent_path();
            const bool is_docker = bundle.parent_path().filename() == "moby"; // already read from docker's files
            if (!is_docker)
                out.add(parse_bundle(read_state(path), bundle.filename(), "containerd"));
        }
}

} // namespace

// The file is an array of containers. `metadata` is a string that contains JSON itself.
std::vector<ContainerRecord> parse_storage(std::string_view text) {
    std::vector<ContainerRecord> out;
    const Json list = parse_json(text);
    if (!list.is_array())
        return out;
    for (const Json& one : list) {
        ContainerRecord record;
        record.id = text_of(one, "id");
        if (record.id.empty())
            continue;
        if (const Json& names = member(one, "names"); names.is_array() && !names.empty() && names[0].is_string())
            record.name = names[0].get<std::string>();
        record.runtime = "podman";
        const Json metadata = parse_json(text_of(one, "metadata"));
        if (!text_of(metadata, "pod-id").empty()) { // belongs to CRI-O
            record.runtime = "cri-o";
            take_kubelet_name(record.name, record);
            if (const std::string name = text_of(metadata, "metadata-name"); !name.empty())
                record.name = name;
        }
        out.push_back(std::move(record));
    }
    return out;
}

std::vector<ContainerRecord> parse_docker(std::string_view text) {
    const Json config = parse_json(text);
    ContainerRecord record;
    record.id = text_of(config, "ID");
    if (record.id.empty())
        return {};
    record.name = text_of(config, "Name");
    if (record.name.starts_with('/'))
        record.name.erase(0, 1);
    record.runtime = "docker";
    take_kubelet_name(record.name, record);
    const Json& labels = member(member(config, "Config"), "Labels");
    if (const std::string pod = text_of(labels, "io.kubernetes.pod.name"); !pod.empty()) {
        record.name = text_of(labels, "io.kubernetes.container.name");
        record.pod_name = pod;
        record.pod_space = text_of(labels, "io.kubernetes.pod.namespace");
        record.pod_uid = text_of(labels, "io.kubernetes.pod.uid");
    }
    return {record};
}

std::vector<ContainerRecord> parse_bundle(std::string_view text, const std::string& id, const std::string& runtime) {
    const Json config = parse_json(text);
    if (!config.is_object())
        return {};
    const Json& notes = member(config, "annotations");
    ContainerRecord record;
    record.id = id;
    record.runtime = runtime;
    record.name = first_of(notes, {"io.kubernetes.cri.container-name", "io.kubernetes.container.name", "nerdctl/name"});
    record.pod_name = first_of(notes, {"io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"});
    record.pod_space = first_of(notes, {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"});
    record.pod_uid = first_of(notes, {"io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid"});
    // containerd's `ctr run IMAGE NAME` uses the name as the id. So the group's path does not contain an id of 64
    // digits.
    std::string group = text_of(member(config, "linux"), "cgroupsPath");
    if (!is_whole_container_id(id) && group.size() > 1 && group[0] == '/') {
        record.group = std::move(group);
        if (record.name.empty())
            record.name = id;
    }
    return {record};
}

std::vector<ContainerRecord> read_container_records(const std::vector<std::string>& roots) {
    Records out;
    for (const std::string& root : roots)
        read_root(root, out);
    for (const std::string& root : roots) // the users' containers after those of root
        for (const std::string& path : expand_path_glob(root + "/home/*/.local/share/containers/storage"))
            read_storage(path, out);
    return out.take();
}

} // namespace sonde
