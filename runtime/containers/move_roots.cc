// Updates paths in a plan that lead to files in containers.
//
// The path /proc/42/root/usr/sbin/nginx works only while process 42 exists. The plan stores for each group the root
// that was used (GroupName::root). If that process has left the group, another process of the group gives the new root,
// and all paths below the old one are changed: of points, of programs, of probed files, and in the texts of points.
//
// The files themselves may differ now, for example after an update of the container's image. ProbedFiles checks their
// build-ids and refuses to probe other files.
#include "runtime/containers/move_roots.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/containers/groups.h"

namespace sonde {
namespace {

// Returns whether the process of the old root is still in the group.
bool is_root_of(const GroupPicture& picture, const plan::GroupName& group) {
    Result<std::vector<size_t>> found = find_groups(picture, group);
    if (!found)
        return false;
    for (size_t folder : *found)
        for (int64_t process : processes_in(picture.tree.mounted, picture.tree.folders[folder].path))
            if (group.root == "/proc/" + std::to_string(process) + "/root")
                return true;
    return false;
}

struct Move {
    std::string from, to;
};

// Replaces the root folder at the beginning of a path.
void move_path(std::string& path, const std::vector<Move>& moves) {
    for (const Move& move : moves)
        if (path.starts_with(move.from + "/")) {
            path.replace(0, move.from.size(), move.to);
            return;
        }
}

// Replaces the root folder in quoted paths of a probe point: process("/proc/42/root/bin/x").
void move_text(std::string& text, const std::vector<Move>& moves) {
    for (const Move& move : moves) {
        const std::string from = "\"" + move.from + "/";
        for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
            text.replace(at + 1, move.from.size(), move.to);
    }
}

} // namespace

Result<std::optional<plan::Plan>> move_roots(const plan::Plan& plan) {
    if (std::ranges::all_of(plan.groups, [](const plan::GroupName& group) { return group.root.empty(); }))
        return std::optional<plan::Plan>();
    Result<GroupPicture> picture = take_group_picture();
    if (!picture)
        return std::move(picture).error();
    std::vector<Move> moves;
    plan::Plan out = plan;
    for (plan::GroupName& group : out.groups) {
        if (group.root.empty() || is_root_of(*picture, group))
            continue;
        Result<std::string> root = root_of_group(*picture, group);
        if (!root)
            return std::move(root).error();
        moves.push_back({group.root, *root});
        group.root = *std::move(root);
    }
    if (moves.empty())
        return std::optional<plan::Plan>();
    const auto move_point = [&](plan::Point& point) {
        move_path(point.path, moves);
        move_path(point.program, moves);
        move_text(point.pp, moves);
    };
    std::ranges::for_each(out.rows, move_point);
    for (plan::Probe& probe : out.probes)
        std::ranges::for_each(probe.points, move_point);
    for (plan::ProbedFile& file : out.files)
        move_path(file.path, moves);
    std::ranges::sort(out.files, {}, &plan::ProbedFile::path);
    return std::optional<plan::Plan>(std::move(out));
}

} // namespace sonde
