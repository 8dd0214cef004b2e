// Fills the maps of a session's control groups.
//
// The kernel's programs and this class change the same maps at the same time. The order makes this safe: the programs
// are attached first, and fill() adds the existing groups afterwards. A group that is created in between is added by
// both, with the same value.
//
// A restarted container gets a new group with a new id. The kernel's program recognizes the group by its parent and
// folder name (sonde_births), and adds it at once, before its first process runs. For docker and podman the folder's
// name contains the container's id, which is the same after a restart.
//
// Names come later: the runtime writes its files after it has created the group. So a new group is looked up again each
// time a group is created, until its names are final.
#include "runtime/containers/session_groups.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "runtime/plan/object_names.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

Result<std::vector<size_t>> find_all(const GroupPicture& picture, const std::vector<plan::GroupName>& wanted) {
    std::vector<size_t> out;
    for (const plan::GroupName& one : wanted) {
        Result<std::vector<size_t>> found = find_groups(picture, one);
        if (!found)
            return std::move(found).error();
        out.insert(out.end(), found->begin(), found->end());
    }
    return out;
}

} // namespace

// An error before the session starts is cheaper than one after loading all programs.
Result<void> SessionGroups::check() {
    if (plan_.groups.empty() && !plan_.names_groups)
        return {};
    Result<GroupPicture> picture = take_group_picture();
    if (!picture)
        return std::move(picture).error();
    Result<std::vector<size_t>> tops = find_all(*picture, plan_.groups);
    if (!tops)
        return std::move(tops).error();
    mounted_ = picture->tree.mounted;
    for (size_t top : *tops)
        tops_.insert(picture->tree.folders[top].path);
    return {};
}

Result<void> SessionGroups::fill(const KernelObject& kernel) {
    Result<GroupPicture> picture = take_group_picture();
    if (!picture)
        return std::move(picture).error();
    Result<std::vector<size_t>> tops = find_all(*picture, plan_.groups);
    if (!tops)
        return std::move(tops).error().in("it ended while sonde armed the probes");
    if (plan_.filter_groups)
        let_in(kernel, *picture, *tops);
    if (plan_.names_groups)
        name_all(kernel, *picture);
    return {};
}

void SessionGroups::refresh(const KernelObject& kernel) {
    if (!std::exchange(is_stale_, false))
        return;
    Result<GroupPicture> picture = take_group_picture();
    if (!picture)
        return; // try again after the next new group
    if (plan_.filter_groups)
        for (const plan::GroupName& wanted : plan_.groups)
            if (Result<std::vector<size_t>> found = find_groups(*picture, wanted)) // it may have ended
                let_in(kernel, *picture, *found);
    if (plan_.names_groups)
        name_all(kernel, *picture);
}

bool SessionGroups::has(int64_t process) const {
    const std::string path = group_of_process(mounted_, process);
    return plan_.groups.empty() ||
           std::ranges::any_of(tops_, [&](const std::string& top) { return is_in_group(path, top); });
}

std::string SessionGroups::own_text(plan::GroupKind kind) {
    if (own_texts_.empty()) {
        own_texts_.resize(4);
        if (Result<GroupPicture> picture = take_group_picture()) {
            const GroupFolder* own = picture->tree.find(group_of_process(picture->tree.mounted, getpid()));
            if (own) {
                GroupTexts texts = name_group(*picture, static_cast<size_t>(own - picture->tree.folders.data()));
                own_texts_ = {texts.container, texts.pod, texts.unit, texts.cgroup};
            }
        }
    }
    return own_texts_[static_cast<size_t>(kind)];
}

void SessionGroups::put(int map, const void* key, const void* value) {
    if (bpf_map_update_elem(map, key, value, BPF_ANY) == 0 || std::exchange(is_full_, true))
        return;
    warn(fmt::format("the handlers do not know some control groups: {}", std::strerror(errno)));
}

// Adds each group with all groups below. Also stores the group's parent and folder name in `sonde_births`. When a
// container or unit is restarted, its group is created again with the same name, and the kernel's program recognizes
// it.
void SessionGroups::let_in(const KernelObject& kernel, const GroupPicture& picture, const std::vector<size_t>& tops) {
    const int groups = kernel.map_fd(plan::maps::groups), births = kernel.map_fd(plan::maps::births);
    const uint64_t one = 1;
    for (size_t top : tops) {
        const GroupFolder& above = picture.tree.folders[top];
        tops_.insert(above.path);
        if (above.parent && above.path.size() > 1) {
            sonde_group_birth birth{};
            birth.parent = above.parent;
            const std::string name = above.path.substr(above.path.rfind('/') + 1);
            std::memcpy(birth.name, name.data(), std::min(name.size(), sizeof birth.name - 1));
            put(births, &birth, &one);
        }
        for (const GroupFolder& folder : picture.tree.folders)
            if (is_in_group(folder.path, above.path) && let_in_.insert(folder.number).second)
                put(groups, &folder.number, &one);
    }
}

// Looks up a group again until its names are final.
void SessionGroups::name_all(const KernelObject& kernel, const GroupPicture& picture) {
    const int names = kernel.map_fd(plan::maps::group_names);
    for (size_t i = 0; i < picture.tree.folders.size(); i++) {
        const uint64_t number = picture.tree.folders[i].number;
        if (named_.contains(number))
            continue;
        const GroupTexts texts = name_group(picture, i);
        const sonde_group_names packed = pack_names(texts);
        put(names, &number, &packed);
        if (texts.is_final)
            named_.insert(number);
    }
}

} // namespace sonde
