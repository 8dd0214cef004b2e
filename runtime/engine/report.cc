// The report at the end of a session: losses, errors, and probes without hits.
//
// A result that is incomplete must not look complete. The kernel counts at each place where a hit or a record can be
// lost, and this file collects the counts:
//
//     ProbeCounts          skipped, waited, lost, errors, nested, unsaved: by probe
//     Attachment::missed   hits that the kernel did not deliver to the program
//     sonde_no_stacks      missing or incomplete stacks
//     lost_tasks           tasks that found no room in a map
//
// An LRU map does not report evictions. So values that were not found at a return count as lost only if the map was
// nearly full (is_full()). Otherwise the call had begun before the session.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/terminal_text.h"
#include "runtime/containers/groups.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/unhit.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/object_names.h"
#include "runtime/symbols/no_stacks.h"
#include "runtime/text/messages.h"
#include "runtime/values/array_values.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

// Returns the kernel's counts for a probe. Durations are valid only with -t.
ProbeRow count_hits(const plan::Plan& plan, const KernelObject& kernel, uint32_t index, plan::ProbeCounts counts) {
    const plan::Probe& probe = plan.probes[index];
    ProbeRow out;
    out.point = probe.points.empty() ? "" : probe.points[0].pn;
    out.place = probe.place;
    out.points = probe.points.size();
    out.skipped = counts.skipped + counts.waited;
    out.failed = counts.errors;
    if (!plan.translate.keeps_times)
        return out;
    plan::ProbeTiming timing{};
    for (const plan::Point& point : probe.points)
        add_timing(timing, timing_of(kernel, point.row));
    out.counted = true;
    out.began = timing.hits;
    out.handled = timing.outcomes[plan::Handled];
    out.lost = timing.outcomes[plan::OutputLost];
    out.failed = timing.outcomes[plan::Failed];
    if (uint64_t ran = out.handled + out.lost + out.failed) {
        out.min_ns = ~timing.min_biased_ns;
        out.mean_ns = timing.total_ns / ran;
        out.max_ns = timing.max_ns;
    }
    return out;
}

// True if a map with LRU eviction may have evicted elements. Each processor keeps some free elements, so eviction may
// begin before the map is full; three quarters count as full.
bool is_full(const KernelObject& kernel, const std::string& name) {
    const int map = kernel.map_fd(name);
    bpf_map_info info{};
    uint32_t size = sizeof info;
    if (map < 0 || bpf_obj_get_info_by_fd(map, &info, &size) != 0)
        return false;
    std::string key(info.key_size, 0), next = key;
    const uint64_t many = info.max_entries / 4 * 3;
    uint64_t elements = 0;
    // The loop has a limit, because an element that the map reuses in the meantime can lead back to the first one.
    for (void* at = nullptr; elements < many && bpf_map_get_next_key(map, at, next.data()) == 0; at = key.data()) {
        key = next;
        elements++;
    }
    return elements >= many;
}

// Returns the hits whose stack did not fit into the map of shared stacks.
uint64_t count_unshared(const KernelObject& kernel) {
    const int map = kernel.map_fd(plan::maps::unshared);
    uint32_t only = 0;
    uint64_t count = 0;
    return map >= 0 && bpf_map_lookup_elem(map, &only, &count) == 0 ? count : 0;
}

// Returns the events that were missed by sonde's own programs, which follow tasks.
uint64_t count_unfollowed(const KernelObject& kernel) {
    uint64_t out = 0;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, kernel.object()) {
        const std::string name = bpf_program__name(program);
        if (name.starts_with("sonde_"))
            out += kernel.missed_by(name);
    }
    return out;
}

} // namespace

void Session::count_losses() {
    for (uint32_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        plan::ProbeCounts row{};
        const bool has_row =
            probe.in_kernel && bpf_map_lookup_elem(data.kernel->map_fd(plan::maps::counts), &i, &row) == 0;
        errors.count_suppressed(probe, row.errors);
        if (!has_row)
            continue;
        ProbeRow hits = count_hits(plan, *data.kernel, i, row);
        hits.missed = data.missed[i] + data.kernel->missed_by(probe.symbol) +
                      (probe.entry_program.empty() ? 0 : data.kernel->missed_by(probe.entry_program));
        accounting.add(Loss::Missed, hits.missed, probe.place);
        // The kernel follows a limited number of nested returns. A program at the entry knows which call exceeds the
        // limit. A program at the return only knows that calls may have been missed.
        const bool knows = probe.is_session || !probe.entry_program.empty();
        const uint64_t unsaved =
            row.unsaved && (probe.is_session || is_full(*data.kernel, probe.entry_map)) ? row.unsaved : 0;
        hits.missed += unsaved + (knows ? row.nested : 0);
        accounting.add(knows ? Loss::Nested : Loss::Full, row.nested, probe.place);
        accounting.add(Loss::Unsaved, unsaved, probe.place);
        accounting.add(Loss::Records, row.lost, probe.place);
        accounting.add(Loss::Locked, row.waited, probe.place, probe.locked_for);
        accounting.add(Loss::NoFrame, row.skipped, probe.place);
        accounting.add_row(std::move(hits));
    }
    if (data.kernel)
        count_no_stacks(plan, *data.kernel, accounting);
    accounting.add(Loss::Tasks, data.words->lost_tasks);
    if (data.kernel) {
        accounting.add(Loss::Unfollowed, count_unfollowed(*data.kernel));
        accounting.add(Loss::Unshared, count_unshared(*data.kernel));
    }
    accounting.add(Loss::Speculations, speculations.dropped(), "", std::to_string(Speculations::max_bytes >> 20));
}

// Prints explanations for probes that were never hit. Prints nothing if there were hits and the script has called
// exit(), because it has seen enough. Prints nothing either if there were hits and the script traces all processes,
// since these rarely hit every probe.
void Session::say_unhit() {
    constexpr size_t most_lines = 10;
    const Marks marks(plan, data.memory);
    const bool has_target = options.has_target();
    const bool everybody = !has_target && !plan.filter_groups;
    const bool was_any = any_hit(plan, marks);
    if (!data.kernel || failed || ((exited || everybody) && was_any))
        return;
    std::string whose = !options.command.empty() ? "the command" : fmt::format("process {}", options.target_pid);
    if (plan.filter_groups)
        whose = (has_target ? whose + " in " : "those of ") + describe_groups(plan.groups);
    if (everybody) {
        whose = "a process";
        if (!target.probed.empty())
            target.files.look_at_all();
    }
    std::vector<std::string> lines =
        explain_unhit({plan, marks, target.files, target.probed, whose, everybody, target.program, hooks.unhit});
    if ((hooks.several_ways || everybody) && !lines.empty() && !was_any) {
        const size_t more = lines.size() - 1;
        const std::string others = more == 0   ? ""
                                   : more == 1 ? ", and 1 more point was not hit"
                                               : fmt::format(", and {} more points were not hit", more);
        return warn(fmt::format("no probe was hit: {}{}", lines[0], others),
                    hooks.several_ways ? Weight::Answer : Weight::Advice);
    }
    for (size_t i = 0; i < std::min(lines.size(), most_lines); i++)
        warn(lines[i]);
    if (lines.size() > most_lines)
        warn(fmt::format("and {} more points were never hit", lines.size() - most_lines));
}

void Session::report() {
    accounting.say();
    uint64_t skipped = data.words->skipped;
    if (data.words->errors || skipped)
        warn(fmt::format("Number of errors: {}, skipped probes: {}", data.words->errors, skipped), Weight::Answer);
    if (translate.timing && data.kernel)
        accounting.say_hits();
}

} // namespace sonde
