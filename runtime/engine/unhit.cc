// A probe without hits has many possible causes, and only some of them are visible to the session. Three sources of
// facts are combined:
//
// * Marks that handlers have set. They show that the probe was reached, but its condition was false, or that only other
//   processes came by.
// * The files that the target has loaded (TargetFiles). They show that the target never ran the probed file.
// * The debug information. It shows that a function also has inlined copies, which a `.call` probe does not cover.
//
// If no fact applies, the line has no reason: a wrong explanation would be worse than none.
#include "runtime/engine/unhit.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/elf_file.h"
#include "base/shared_libraries.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// A probe point in the script. It may stand for many places in several programs.
struct Written {
    std::string place, text;
    std::vector<std::pair<uint32_t, const plan::Point*>> points; // index of the probe, and its point
    bool hit = false;
};

// A hit counts only if the probe's condition was true, unless the session itself evaluates the condition.
bool was_hit(const plan::Plan& plan, const Marks& marks, uint32_t probe, uint32_t row) {
    const plan::Probe& one = plan.probes[probe];
    bool asks = one.has_condition && !one.is_session;
    return marks.has(plan::Mark::Hit, row) && (!asks || marks.has(plan::Mark::Wanted, row));
}

// Groups the plan's points by the point in the script that they come from. The group is hit if one of them was.
std::vector<Written> written_points(const plan::Plan& plan, const Marks& marks) {
    std::vector<Written> out;
    std::map<std::pair<std::string, std::string>, size_t> seen;
    for (uint32_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        if (!probe.in_kernel || !plan::is_event(probe.kind) || probe.place.empty())
            continue;
        for (const plan::Point& point : probe.points) {
            if (probe.kind == plan::ProbeKind::Perf && point.perf.sample == 0)
                continue; // a counter that handlers read; it causes no hits
            auto [at, fresh] = seen.try_emplace({probe.place, point.pn}, out.size());
            if (fresh)
                out.push_back({probe.place, point.pn, {}});
            out[at->second].points.emplace_back(i, &point);
            out[at->second].hit = out[at->second].hit || was_hit(plan, marks, i, point.row);
        }
    }
    return out;
}

uint64_t inode_of(const std::string& path) {
    struct stat found{};
    return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

// True for a statically linked program, which contains copies of library functions.
bool is_static(const std::string& program) {
    return ElfFile::open_any_width(program) && shared_libraries(program, host_architecture().library_search()).empty();
}

// Returns the reason why the target cannot have executed code in this file; "" if it can.
std::string explain_file(const UnhitContext& context, const std::string& path) {
    auto probed = context.inodes.find(path);
    if (probed == context.inodes.end() || probed->second == 0)
        return "";
    if (context.files.has_inode(probed->second))
        return "";
    const bool replaced = inode_of(path) != probed->second;
    if (std::set<uint64_t> others = context.files.inodes_at(path); !others.empty())
        return replaced
                   ? fmt::format("{} was replaced while the session ran, and {} ran the new file", path, context.target)
                   : fmt::format("{} ran another file with this path (inode {} instead of {}): the file was replaced, "
                                 "or the process sees another file system; use `process(PID)`",
                                 context.target, *others.begin(), probed->second);
    if (replaced)
        return fmt::format("{} was replaced while the session ran", path);
    if (!context.files.is_complete())
        return "";
    std::string instead = context.files.program();
    if (context.everybody)
        return fmt::format("no visible process has loaded {}", path);
    if (instead.empty() || instead == path)
        return fmt::format("{} never ran or loaded {}", context.target, path);
    return fmt::format("{} never ran or loaded {}; it ran {}{}", context.target, path, instead,
                       is_static(instead) ? ", which is linked statically and contains its libraries" : "");
}

bool is_32_bit_program(const std::string& path) {
    Result<ElfFile> file = path.empty() ? Result<ElfFile>(Error("")) : ElfFile::open_any_width(path);
    return file && file->is_32_bit();
}

// Returns the most specific reason that the facts support; "" if none applies. The order of the checks matters: "the
// condition was never true" is certain, while "inlined" is only a possible cause.
std::string explain(const UnhitContext& context, const Written& written) {
    bool outside = false, unmet = false, entered = false, asks = false, all_user = true;
    uint64_t copies = 0;
    const plan::Point* python = nullptr;
    std::string function, file;
    for (const auto& [probe, point] : written.points) {
        const plan::Probe& one = context.plan.probes[probe];
        outside = outside || context.marks.has(plan::Mark::Outside, probe);
        entered = entered || context.marks.has(plan::Mark::Entered, point->row);
        unmet = unmet || context.marks.has(plan::Mark::Hit, point->row);
        asks = asks || one.has_condition;
        all_user = all_user && plan::is_uprobe(one.kind);
        if (!point->meant.empty())
            python = point;
    }
    // Each function of Python hits the probe, and the handler's condition selects those that the point means.
    if ((unmet || entered) && python) {
        const std::string similar =
            context.translation.similar_name ? context.translation.similar_name(*python) : std::string();
        return fmt::format("sonde saw Python functions, but no {}{}{}", python->meant, similar.empty() ? "" : "; ",
                           similar);
    }
    if (unmet)
        return "sonde saw events, but the condition was never true";
    if (entered)
        return asks ? "sonde saw calls, but no return of a call with a true condition"
                    : "sonde saw calls, but none of them returned during the session";
    if (all_user) {
        std::vector<std::string> reasons;
        for (const auto& [probe, point] : written.points) {
            std::string reason = explain_file(context, point->path);
            if (!reason.empty() && std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
                reasons.push_back(reason);
            if (reason.empty())
                file = point->path;
        }
        if (file.empty() && !reasons.empty())
            return reasons.size() == 1 ? reasons[0]
                                       : fmt::format("{} (and {} more files)", reasons[0], reasons.size() - 1);
    }
    const bool all_calls = std::all_of(written.points.begin(), written.points.end(), [](const auto& one) {
        return one.second->number >= 0 && one.second->narrow_calls.empty();
    });
    if (all_calls && is_32_bit_program(context.program))
        return fmt::format("{} is a 32-bit program; the handler cannot see its calls, because their structures differ",
                           context.program);
    if (outside)
        return fmt::format("only processes other than {} hit the probe", context.target);
    if (all_user && context.translation.inlined_copies && written.points.size() <= 16)
        for (const auto& [probe, point] : written.points)
            if (uint64_t more = context.translation.inlined_copies(*point)) {
                copies += more;
                function = point->function;
            }
    if (copies)
        return fmt::format(
            "`{}` is inlined at {} place{}; remove `.call` and `.return`, or write `.inline`, to probe the copies",
            function, copies, copies == 1 ? "" : "s");
    return "";
}

} // namespace

std::map<std::string, uint64_t> probed_inodes(const plan::Plan& plan) {
    std::map<std::string, uint64_t> out;
    for (const plan::Probe& probe : plan.probes)
        for (const plan::Point& point : probe.points)
            if (plan::is_uprobe(probe.kind) && !out.contains(point.path))
                out[point.path] = inode_of(point.path);
    return out;
}

bool any_hit(const plan::Plan& plan, const Marks& marks) {
    for (const plan::Probe& probe : plan.probes)
        for (const plan::Point& point : probe.points)
            if (probe.in_kernel && plan::is_event(probe.kind) && marks.has(plan::Mark::Hit, point.row))
                return true;
    return false;
}

// For a probe with many points, one line stands for all of them.
std::vector<std::string> explain_unhit(const UnhitContext& context) {
    constexpr size_t most_in_one_probe = 4;
    std::map<std::string, std::pair<size_t, size_t>> places; // number of points, and of those that were hit
    std::vector<Written> all = written_points(context.plan, context.marks);
    for (const Written& one : all) {
        places[one.place].first++;
        places[one.place].second += one.hit;
    }
    std::vector<std::string> out;
    std::map<std::string, bool> said;
    for (const Written& one : all) {
        auto [points, hit] = places[one.place];
        // If a probe has many points, for example by an alias, a single hit is enough.
        bool many = points > most_in_one_probe;
        if (one.hit || (many && (hit > 0 || std::exchange(said[one.place], true))))
            continue;
        std::string more = many ? fmt::format(" and {} more points", points - 1) : "";
        std::string why = explain(context, one);
        out.push_back(fmt::format("{}{} ({}) {} never hit{}{}", one.text, more, one.place, many ? "were" : "was",
                                  why.empty() ? "" : ": ", why));
    }
    return out;
}

} // namespace sonde
