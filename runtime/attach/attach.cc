// From the plan's probes to links: places are grouped by program and file, since taking a link off costs a wait for
// each.
#include "runtime/attach/attach.h"

#include <map>
#include <set>

namespace sonde {
namespace {

void add(UprobeTargets& targets, const plan::Point& point, uint64_t offset) {
    targets.path = point.path;
    targets.offsets.push_back(offset);
    targets.ref_ctr_offsets.push_back(point.ref_ctr_offset);
    targets.cookies.push_back(point.row);
    targets.names.push_back(point.pp);
}

std::vector<UprobeTargets> group(const plan::Probe& probe, const std::string& program, bool entry) {
    std::map<std::string, UprobeTargets> files;
    std::set<std::pair<std::string, uint64_t>> seen;
    for (const plan::Point& point : probe.points)
        // A function with several returns has one entry.
        if (!entry || seen.insert({point.path, point.entry_offset}).second)
            add(files[point.path], point, entry ? point.entry_offset : point.offset);
    std::vector<UprobeTargets> out;
    for (auto& [path, targets] : files) {
        targets.program = program;
        targets.at_return = !entry && probe.kind == plan::ProbeKind::Uretprobe && !probe.at_instruction;
        out.push_back(std::move(targets));
    }
    return out;
}

} // namespace

Result<Attachments> attach_probes(const plan::Plan& plan, const KernelObject& kernel, bool multi) {
    std::vector<UprobeTargets> all;
    // Of several probes at one place the kernel runs the one that came last first: attached from behind, they run as
    // the script has them.
    for (auto at = plan.probes.rbegin(); at != plan.probes.rend(); ++at) {
        const plan::Probe& probe = *at;
        if (probe.kind != plan::ProbeKind::Uprobe && probe.kind != plan::ProbeKind::Uretprobe)
            continue;
        // A function's entry is saved from before its return is watched.
        if (!probe.entry_program.empty())
            for (UprobeTargets& targets : group(probe, probe.entry_program, true))
                all.push_back(std::move(targets));
        for (UprobeTargets& targets : group(probe, probe.symbol, false))
            all.push_back(std::move(targets));
    }
    Attachments out;
    for (const UprobeTargets& targets : all) {
        Result<std::unique_ptr<Attachment>> attached =
            multi ? attach_uprobe_multi(kernel.program_fd(targets.program), targets)
                  : attach_perf_event(kernel.object(), targets);
        if (!attached)
            return std::move(attached).error();
        out.push_back(*std::move(attached));
    }
    return out;
}

} // namespace sonde
