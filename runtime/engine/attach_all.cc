// Attaches everything that a session needs, in the right order.
//
// Two things happen at the same time: sonde attaches, and processes begin and end. Wherever both a list and an event
// exist, the event is attached first, and the list is read afterwards. An object that appears in between is then found
// twice, which is harmless. In the other order it would be missed.
#include "runtime/engine/attach_all.h"

#include <linux/capability.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/processes.h"
#include "runtime/kernel/privileges.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/saved_calls.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Adds a process and its descendants to the targets. Descendants whose parent has ended are not found.
void add_targets(const KernelObject& kernel, int64_t process) {
    int64_t number = kernel.numbers().in_kernel(process);
    if (number == 0 || !kernel.targets().add(number))
        return;
    for (int64_t child : children_of(process))
        add_targets(kernel, child);
}

// Adds the threads of a process and of its descendants to `threads`.
void add_threads(int64_t process, std::vector<int64_t>& threads) {
    for (int64_t thread : threads_of(process))
        threads.push_back(thread);
    for (int64_t child : children_of(process))
        add_threads(child, threads);
}

// Compares the probed code with the memory of running processes. Omits places where the code differs from the file, for
// example because of a debugger's breakpoint: the kernel would overwrite it. Returns an error if nothing of a probe
// remains.
Result<void> compare_memory(Session& session, const ProbedFiles& files, ToArm& to_arm) {
    const plan::Plan& plan = session.plan;
    MemoryCheck check = check_memory_of_processes(plan, files, to_arm.stop);
    const KernelObject& kernel = *session.data.kernel;
    for (const auto& [process, path] : check.moved) {
        const std::string what = fmt::format("process {} runs a copy of the code of `{}` in its own memory (large "
                                             "pages); sonde cannot probe the copy and does not see its hits",
                                             process, path);
        if (plan.filter_target && kernel.targets().has(session.data.numbers.in_kernel(process)))
            return Error(what + "; start the process without the copy, as with `node --use-largepages=off`");
        warn(what, Weight::Answer);
    }
    for (const auto& [process, mapping] : check.unprobed)
        if (!plan.filter_target || kernel.targets().has(session.data.numbers.in_kernel(process)))
            session.warned(mapping.text(process));
    if (check.hidden > 0 && !plan.filter_target && !has_capability(CAP_SYS_PTRACE))
        warn(fmt::format("comparing the code of {} processes of other users with the files needs CAP_SYS_PTRACE; sonde "
                         "would overwrite a debugger's breakpoint or a patch in these processes",
                         check.hidden));
    const size_t changes = check.changes();
    if (changes == 0)
        return {};
    to_arm.left_out = std::move(check.changed);
    const auto is_armed = [&](const plan::Point& point) {
        const auto file = to_arm.left_out.find(point.path);
        return file == to_arm.left_out.end() || !file->second.contains(point.offset);
    };
    const std::string what =
        fmt::format("{}{}", check.first_change,
                    changes == 1 ? "" : fmt::format("; {} more places are changed in memory", changes - 1));
    for (const plan::Probe& probe : plan.probes)
        if (plan::is_uprobe(probe.kind) && std::ranges::none_of(probe.points, is_armed))
            return Error("cannot probe " + what);
    warn("skipped: " + what, Weight::Answer);
    return {};
}

} // namespace

// The order matters. The kernel runs the programs of one tracepoint in the order of their attachment. The program that
// adds new processes to the target attaches first, and the program that removes exited processes attaches last. So for
// handlers, a task is part of the target during its whole life.
Result<void> attach_all(Session& session, Attachments& attachments, ProbedFiles& files, const SoundPlaces& places,
                        const plan::LinkKinds& links, std::function<bool()> stop) {
    const plan::Plan& plan = session.plan;
    const KernelObject& kernel = *session.data.kernel;
    auto keep = [&](Result<Attachments> some) -> Result<void> {
        if (!some)
            return std::move(some).error();
        std::move(some->begin(), some->end(), std::back_inserter(attachments));
        return {};
    };
    auto follow = [&](const char* program, const char* tracepoint,
                      const char* what = "the target's children") -> Result<void> {
        Result<std::unique_ptr<Attachment>> attached = attach_raw_tracepoint(kernel.program_fd(program), tracepoint);
        if (!attached)
            return std::move(attached).error().in(fmt::format("cannot follow {}", what));
        attachments.push_back(*std::move(attached));
        return {};
    };
    // First follow new control groups, then add the existing ones, so that none is missed in between.
    if (plan.follows_groups()) {
        for (auto [program, tracepoint] :
             {std::pair(plan::programs::group_born, "cgroup_mkdir"), {plan::programs::group_gone, "cgroup_release"}})
            if (Result<void> followed = follow(program, tracepoint, "control groups"); !followed)
                return followed;
        if (Result<void> filled = session.groups.fill(kernel); !filled)
            return filled;
    }
    if (plan.filter_target)
        for (auto [program, tracepoint] : {std::pair(plan::programs::follow_fork, "sched_process_fork"),
                                           {plan::programs::follow_exec, "sched_process_exec"}})
            if (Result<void> followed = follow(program, tracepoint); !followed)
                return followed;
    if (plan::saves_calls(plan) && kernel.program_fd(plan::programs::saved_calls_fork) >= 0)
        if (Result<void> followed = follow(plan::programs::saved_calls_fork, "sched_process_fork", "forks"); !followed)
            return followed;
    // A command becomes a target by its exec. For -x, the process and its current children are added here; later
    // children are followed by the tracepoint.
    if (plan.filter_target && session.options.target_pid != 0)
        add_targets(kernel, static_cast<int64_t>(session.data.words->target));
    for (auto attach : {attach_subjects, attach_task_events})
        if (Result<void> kept = keep(attach(plan, kernel)); !kept)
            return kept;
    if (Result<void> kept = keep(open_counters(plan, kernel)); !kept)
        return kept;
    std::vector<std::string> refused;
    ToArm to_arm;
    to_arm.stop = std::move(stop);
    if (plan.filter_target)
        add_threads(static_cast<int64_t>(session.data.words->target), to_arm.threads);
    if (Result<void> compared = compare_memory(session, files, to_arm); !compared)
        return compared;
    if (Result<void> kept = keep(attach_probes(plan, kernel, files, places, links, to_arm, refused)); !kept)
        return kept;
    if (Result<void> same = files.compare_again(); !same)
        return same;
    if (!refused.empty())
        warn(fmt::format("the kernel cannot probe the instruction at {}{}", refused[0],
                         refused.size() == 1   ? ""
                         : refused.size() == 2 ? " and 1 more place"
                                               : fmt::format(" and {} more places", refused.size() - 1)));
    if (plan.filter_target)
        return follow(plan::programs::follow_exit, "sched_process_free");
    return {};
}

std::vector<int64_t> running_processes(const Session& session, int64_t waiting) {
    std::vector<int64_t> out;
    for (int64_t process : all_processes())
        if (process != waiting && session.data.kernel->targets().has(session.data.numbers.in_kernel(process)))
            out.push_back(process);
    return out;
}

void disarm_costly(Session& session, OverloadGuard& overload, Attachments& attachments) {
    for (const auto& [probe, why] : overload.look(now_ns())) {
        for (const std::unique_ptr<Attachment>& attachment : attachments)
            if (attachment->probe == probe)
                session.data.missed[probe] += attachment->missed();
        std::erase_if(attachments, [&](const auto& attachment) { return attachment->probe == probe; });
        session.accounting.add(Loss::Disarmed, 1, session.plan.probes[probe].place, why);
        warn(fmt::format("the probe at {} was disarmed {}", session.plan.probes[probe].place, why), Weight::Answer);
        const bool was_last = std::ranges::none_of(
            attachments, [](const auto& attachment) { return attachment->probe != Attachment::no_probe; });
        // A command goes on to its end, also without probes. Files can still be read.
        if (was_last && session.options.command.empty() && !session.plan.has(plan::is_file) && !session.data.editor) {
            const char* other = session.plan.filter_target ? "raise the limit of --overload"
                                                           : "trace one process with -x PID, without this limit";
            warn(fmt::format("no probe is left, so the session ends: probe a place that is executed less often, or {}",
                             other),
                 Weight::Answer);
            session.exiting = true;
        }
    }
}

} // namespace sonde
