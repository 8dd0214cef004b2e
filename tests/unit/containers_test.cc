// Identifying control groups: by their paths, by the records of container runtimes, and by names, in folder trees that
// the tests create.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/containers/groups.h"

namespace sonde {
namespace {

const std::string id_a(64, 'a'), id_b = std::string(62, 'a') + "bb";

// A temporary folder. Files are created together with their parent folders.
class Tree {
  public:
    Tree() {
        std::string pattern = testing::TempDir() + "groups-XXXXXX";
        folder_ = mkdtemp(pattern.data());
    }
    ~Tree() { std::filesystem::remove_all(folder_); }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(folder_ + path).parent_path());
        std::ofstream(folder_ + path) << text;
    }
    void group(const std::string& path) const { write("/cgroup" + path + "/cgroup.procs", ""); }
    GroupPicture picture() const {
        Result<GroupPicture> out = take_group_picture(folder_ + "/cgroup", {folder_});
        EXPECT_TRUE(out.ok());
        return *out;
    }
    const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
};

std::string texts_of(const GroupPicture& picture, const std::string& path) {
    for (size_t i = 0; i < picture.tree.folders.size(); i++)
        if (picture.tree.folders[i].path == path) {
            const GroupTexts texts = name_group(picture, i);
            return fmt::format("{}|{}|{}", texts.container, texts.pod, texts.unit);
        }
    return "no such group";
}

std::string find(const GroupPicture& picture, plan::GroupKind kind, const std::string& name) {
    Result<std::vector<size_t>> found = find_groups(picture, {kind, name, ""});
    if (!found)
        return found.error().message;
    std::string out;
    for (size_t one : *found)
        out += picture.tree.folders[one].path + " ";
    return out;
}

TEST(GroupPath, KnowsTheNamesOfRuntimesAndSystemd) {
    struct Row {
        std::string path, container, runtime, pod, unit;
    };
    const Row rows[] = {
        {"/", "", "", "", ""},
        {"/system.slice/nginx.service", "", "", "", "nginx.service"},
        {"/system.slice/nginx.service/worker", "", "", "", "nginx.service"},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/shell.service", "", "", "", "shell.service"},
        {"/machine.slice/libpod-" + id_a + ".scope", id_a, "podman", "", "libpod-" + id_a + ".scope"},
        {"/machine.slice/libpod-" + id_a + ".scope/container", id_a, "podman", "", "libpod-" + id_a + ".scope"},
        {"/machine.slice/libpod-conmon-" + id_a + ".scope", "", "", "", "libpod-conmon-" + id_a + ".scope"},
        {"/libpod_parent/libpod-" + id_a, id_a, "podman", "", ""},
        {"/machine.slice/machine-libpod_pod_" + id_b + ".slice/libpod-" + id_a + ".scope", id_a, "podman", id_b,
         "libpod-" + id_a + ".scope"},
        {"/system.slice/docker-" + id_a + ".scope", id_a, "docker", "", "docker-" + id_a + ".scope"},
        {"/docker/" + id_a, id_a, "docker", "", ""},
        {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2_3.slice/cri-containerd-" + id_a + ".scope",
         id_a, "containerd", "1-2-3", "cri-containerd-" + id_a + ".scope"},
        {"/kubepods.slice/kubepods-pod1_2.slice/crio-" + id_a + ".scope", id_a, "cri-o", "1-2",
         "crio-" + id_a + ".scope"},
        {"/kubepods/besteffort/pod1-2-3/" + id_a, id_a, "", "1-2-3", ""},
        {"/docker/" + id_b + "/docker/" + id_a, id_a, "docker", "", ""},
        {"/podium/pod", "", "", "", ""},
        {"/machine.slice/libpod-short.scope", "", "", "", "libpod-short.scope"},
        {"//x//", "", "", "", ""},
    };
    for (const Row& row : rows) {
        const GroupIdentity who = identify_group(row.path);
        EXPECT_EQ(who.container, row.container) << row.path;
        EXPECT_EQ(who.runtime, row.runtime) << row.path;
        EXPECT_EQ(who.pod, row.pod) << row.path;
        EXPECT_EQ(who.unit, row.unit) << row.path;
    }
}

TEST(ContainerRecords, OfPodmanAndCriO) {
    const auto records =
        parse_storage(R"([{"id":"x1","names":["web","w"],"metadata":"{\"name\":\"web\"}"}, 7, {"names":["no id"]},
        {"id":"x2","names":["k8s_nginx_front-1_shop_u-1_0"],"metadata":"{\"pod-id\":\"p\",\"metadata-name\":\"nginx\"}"},
        {"id":"x3","names":7,"metadata":"not json"}])");
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].name, "web");
    EXPECT_EQ(records[0].runtime, "podman");
    EXPECT_EQ(records[1].name + " " + records[1].pod_space + "/" + records[1].pod_name + " " + records[1].pod_uid,
              "nginx shop/front-1 u-1");
    EXPECT_EQ(records[1].runtime, "cri-o");
    EXPECT_EQ(records[2].name, "");
}

TEST(ContainerRecords, OfDockerAndContainerd) {
    auto docker = parse_docker(R"({"ID":"x","Name":"/web","Config":{"Labels":{"a":"b"}}})");
    ASSERT_EQ(docker.size(), 1u);
    EXPECT_EQ(docker[0].name, "web");
    docker = parse_docker(R"({"ID":"x","Name":"/k8s_a_b_c_d_0","Config":{"Labels":{"io.kubernetes.pod.name":"front",
        "io.kubernetes.pod.namespace":"shop","io.kubernetes.container.name":"nginx","io.kubernetes.pod.uid":"u"}}})");
    EXPECT_EQ(docker[0].name + docker[0].pod_space + docker[0].pod_name + docker[0].pod_uid, "nginxshopfrontu");
    const auto bundle = parse_bundle(
        R"({"annotations":{"io.kubernetes.cri.container-name":"nginx","io.kubernetes.cri.sandbox-name":"front",
        "io.kubernetes.cri.sandbox-namespace":"shop","io.kubernetes.cri.sandbox-uid":"u"}})",
        "x", "containerd");
    ASSERT_EQ(bundle.size(), 1u);
    EXPECT_EQ(bundle[0].name + bundle[0].pod_space + bundle[0].pod_name + bundle[0].pod_uid, "nginxshopfrontu");
}

// containerd's `ctr` lets the user choose the id, and creates the group at /NAMESPACE/ID.
TEST(ContainerRecords, OfContainersWhoseIdIsAName) {
    Tree tree;
    tree.group("/default/web/deeper");
    tree.group("/default/other");
    tree.write("/run/containerd/io.containerd.runtime.v2.task/default/web/config.json",
               R"({"linux":{"cgroupsPath":"/default/web"}})");
    tree.write("/run/containerd/io.containerd.runtime.v2.task/default/all/config.json",
               R"({"linux":{"cgroupsPath":"/"}})");
    const GroupPicture picture = tree.picture();
    EXPECT_EQ(find(picture, plan::GroupKind::Container, "web"), "/default/web ");
    EXPECT_EQ(texts_of(picture, "/default/web/deeper"), "web||");
    EXPECT_EQ(texts_of(picture, "/default/other"), "||");
}

TEST(ContainerRecords, PassOverWhatIsNone) {
    for (const char* text :
         {"", "{", "null", "[1,2]", "\"x\"", "{\"ID\":7}", "{\"annotations\":[]}", "[[[[", "\xff\xfe"}) {
        EXPECT_TRUE(parse_storage(text).empty()) << text;
        EXPECT_TRUE(parse_docker(text).empty()) << text;
        for (const ContainerRecord& record : parse_bundle(text, "x", "containerd"))
            EXPECT_EQ(record.name + record.pod_name, "") << text;
    }
    EXPECT_TRUE(parse_storage(std::string(100000, '[')).empty());
}

TEST(ContainerRecords, RootsBeforeUsersAndNoPipes) {
    Tree tree;
    tree.write("/var/lib/containers/storage/overlay-containers/containers.json",
               fmt::format(R"([{{"id":"{}","names":["web"]}}])", id_a));
    tree.write("/home/eve/.local/share/containers/storage/vfs-containers/containers.json",
               fmt::format(R"([{{"id":"{}","names":["fake"]}},{{"id":"{}","names":["own"]}}])", id_a, id_b));
    std::filesystem::create_directories(tree.folder() + "/var/lib/docker/containers/x");
    ASSERT_EQ(mkfifo((tree.folder() + "/var/lib/docker/containers/x/config.v2.json").c_str(), 0600), 0);
    const auto records = read_container_records({tree.folder()});
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].name, "web");
    EXPECT_EQ(records[1].name, "own");
}

TEST(ContainerRecords, WhereTheSettingsSay) {
    Tree tree;
    tree.write("/etc/containers/storage.conf",
               "[storage]\n# graphroot = \"/no\"\ndriver = \"vfs\"\n graphroot = \"/srv/c\"\n");
    tree.write("/srv/c/vfs-containers/containers.json", R"([{"id":"x","names":["a"]}])");
    tree.write("/etc/docker/daemon.json", "{\n  \"data-root\": \"/srv/d\"\n}\n");
    tree.write("/srv/d/containers/y/config.v2.json", R"({"ID":"y","Name":"/b"})");
    const auto records = read_container_records({tree.folder()});
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].name + records[1].name, "ab");
}

TEST(Groups, AreFoundByName) {
    Tree tree;
    const std::string web = "/machine.slice/libpod-" + id_a + ".scope", db = "/machine.slice/libpod-" + id_b + ".scope";
    for (const std::string& path :
         {std::string(), web, web + "/container", db, std::string("/system.slice/nginx.service"),
          std::string("/system.slice/nginx.service/below")})
        tree.group(path);
    tree.write(
        "/var/lib/containers/storage/overlay-containers/containers.json",
        fmt::format(R"([{{"id":"{}","names":["web"]}},{{"id":"{}","names":["aaaa"]}},{{"id":"{}","names":["old"]}}])",
                    id_a, id_b, std::string(64, 'c')));
    const GroupPicture picture = tree.picture();
    using enum plan::GroupKind;
    EXPECT_EQ(find(picture, Container, "web"), web + " ");
    EXPECT_EQ(find(picture, Container, id_a), web + " ");
    EXPECT_EQ(find(picture, Container, "aaaa"), db + " "); // a name takes precedence over the prefix of an id
    EXPECT_EQ(find(picture, Container, "aaa"),
              "--container aaa: `aaa` is the beginning of the ids of 2 containers: podman "
              "aaaaaaaaaaaa, podman aaaaaaaaaaaa; write more of the id");
    EXPECT_EQ(find(picture, Container, "old").substr(0, 74),
              "--container old: the container `old` (podman cccccccccccc) is not running;");
    EXPECT_EQ(find(picture, Container, "wbe"),
              "--container wbe: container `wbe` is not running (did you mean `web`?); running: aaaa, web");
    EXPECT_EQ(find(picture, Unit, "nginx"), "/system.slice/nginx.service ");
    EXPECT_EQ(find(picture, Unit, "nginx.service"), "/system.slice/nginx.service ");
    EXPECT_EQ(find(picture, Cgroup, "/system.slice/"), "/system.slice ");
    EXPECT_EQ(find(picture, Cgroup, tree.folder() + "/cgroup/system.slice"), "/system.slice ");
    EXPECT_EQ(find(picture, Cgroup, "system.slice/../machine.slice"), "/machine.slice ");
    EXPECT_EQ(find(picture, Cgroup, "/"), "/ ");
    EXPECT_EQ(find(picture, Cgroup, "/system.slice/nginx"),
              fmt::format("--cgroup /system.slice/nginx: control group `/system.slice/nginx` does not exist below "
                          "{}/cgroup (did you mean "
                          "`/system.slice/nginx.service`?); existing: "
                          "/system.slice/nginx.service",
                          tree.folder()));
    EXPECT_EQ(texts_of(picture, web + "/container"), "web||libpod-" + id_a + ".scope");
    EXPECT_EQ(texts_of(picture, "/system.slice/nginx.service/below"), "||nginx.service");
}

TEST(Groups, OfPods) {
    Tree tree;
    const std::string pod = "/kubepods.slice/kubepods-pod1_2.slice";
    tree.group(pod + "/cri-containerd-" + id_a + ".scope");
    tree.group("/kubepods/burstable/pod3-4/" + id_b);
    const auto bundle = [](const char* name, const char* space, const char* pod_name, const char* uid) {
        return fmt::format(
            R"({{"annotations":{{"io.kubernetes.cri.container-name":"{}","io.kubernetes.cri.sandbox-namespace":"{}",)"
            R"("io.kubernetes.cri.sandbox-name":"{}","io.kubernetes.cri.sandbox-uid":"{}"}}}})",
            name, space, pod_name, uid);
    };
    const std::string state = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/";
    tree.write(state + id_a + "/config.json", bundle("app", "shop", "front", "1-2"));
    tree.write(state + id_b + "/config.json", bundle("app", "test", "front", "3-4"));
    const GroupPicture picture = tree.picture();
    using enum plan::GroupKind;
    EXPECT_EQ(find(picture, Pod, "shop/front"), pod + " ");
    EXPECT_EQ(find(picture, Pod, "test/front"), "/kubepods/burstable/pod3-4 ");
    EXPECT_EQ(find(picture, Pod, "front"),
              "--pod front: the pod `front` is in the namespaces shop, test; choose one, as `--pod shop/front`");
    EXPECT_EQ(find(picture, Pod, "shop/fornt"), "--pod shop/fornt: pod `shop/fornt` is not running (did you mean "
                                                "`shop/front`?); running: shop/front, test/front");
    EXPECT_EQ(find(picture, Container, "app"), "--container app: `app` is the name of 2 containers: containerd "
                                               "aaaaaaaaaaaa in the pod shop/front, containerd aaaaaaaaaaaa "
                                               "in the pod test/front; write more of the id");
    EXPECT_EQ(texts_of(picture, pod), "|shop/front|");
    EXPECT_EQ(texts_of(picture, "/kubepods/burstable/pod3-4/" + id_b), "app|test/front|");
}

TEST(Groups, LongNamesAreCut) {
    const sonde_group_names packed =
        pack_names({std::string(500, 'x'), std::string(500, 'y'), "u", std::string(600, 'z'), true});
    EXPECT_EQ(std::string(packed.container).size(), SONDE_CONTAINER_BYTES - 1u);
    EXPECT_EQ(std::string(packed.pod).size(), SONDE_POD_BYTES - 1u);
    EXPECT_EQ(std::string(packed.cgroup).size(), SONDE_CGROUP_BYTES - 1u);
}

} // namespace
} // namespace sonde
