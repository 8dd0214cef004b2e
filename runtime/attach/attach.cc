// Attaches the probes of a plan.
//
// Uprobes are grouped by program and file, so that one link can serve many places. This matters when the session ends:
// removing a link waits in the kernel.
//
// The order of the links matters, because several programs at one place must run in the order of the script. The kernel
// runs uprobes, and most kprobes, in the reverse order of attaching, so these are attached from the last probe to the
// first. A few kinds run in the order of attaching (runs_first_attached()).
#include "runtime/attach/attach.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/kallsyms.h"
#include "runtime/attach/arm_places.h"
#include "runtime/plan/kinds.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

void add(UprobeTargets& targets, const plan::Point& point, uint64_t offset) {
    targets.path = point.path;
    targets.offsets.push_back(offset);
    targets.ref_ctr_offsets.push_back(point.ref_ctr_offset);
    targets.cookies.push_back(point.row);
    targets.names.push_back(point.pp);
}

bool is_left_out(const LeftOut& left_out, const std::string& path, uint64_t offset) {
    const auto file = left_out.find(path);
    return file != left_out.end() && file->second.contains(offset);
}

// Returns the places for one of the probe's two programs, by file. `entry` selects the program at the function's entry.
std::vector<UprobeTargets> group(const plan::Probe& probe, const std::string& program, bool entry,
                                 const SoundPlaces& places, const LeftOut& left_out) {
    std::map<std::string, UprobeTargets> files;
    std::set<std::pair<std::string, uint64_t>> seen;
    for (const plan::Point& point : probe.points)
        // A probe with two programs needs both: skip the point if one of the two places cannot be probed. Several
        // return instructions share one entry, which must be attached only once.
        if (places.can_attach(probe, point) && !is_left_out(left_out, point.path, point.offset) &&
            (probe.entry_program.empty() || !is_left_out(left_out, point.path, point.entry_offset)) &&
            (!entry || seen.insert({point.path, point.entry_offset}).second))
            add(files[point.path], point, *places.place_of(point.path, entry ? point.entry_offset : point.offset));
    std::vector<UprobeTargets> out;
    for (auto& [path, targets] : files) {
        targets.program = program;
        targets.is_session = probe.is_session;
        targets.at_return = !entry && probe.changes_return_addresses();
        out.push_back(std::move(targets));
    }
    return out;
}

AttachPoint* attaching(plan::Mechanism mechanism) {
    static constexpr AttachPoint* all[] = {
#define MECHANISM(id, name, attach) attach,
#include "runtime/plan/mechanisms.def"
#undef MECHANISM
    };
    return all[static_cast<size_t>(mechanism)];
}

// Attaches the programs of one point. The program that saves values at the function's entry comes first, so that no
// return is hit without saved values.
Result<void> attach_point(const plan::Probe& probe, const plan::Point& point, AttachPoint* attach,
                          const KernelObject& kernel, const std::vector<int64_t>& threads, Attachments& out) {
    for (const std::string& program : {probe.entry_program, probe.symbol}) {
        if (program.empty())
            continue;
        Result<std::unique_ptr<Attachment>> attached = attach({probe, point, program, kernel, threads});
        if (!attached)
            return std::move(attached).error();
        out.push_back(*std::move(attached));
    }
    return {};
}

// Returns the addresses of the probe's functions. The address is 0 if several functions have the same name.
std::map<std::pair<std::string, std::string>, uint64_t> find_functions(const plan::Probe& probe) {
    std::map<std::pair<std::string, std::string>, uint64_t> out;
    std::unordered_set<std::string_view> names; // most lines of kallsyms concern other functions: check the name first
    for (const plan::Point& point : probe.points) {
        out[{point.symbol, point.module}] = 0;
        names.insert(point.symbol);
    }
    std::set<std::pair<std::string, std::string>> seen;
    Result<std::string> list = read_kallsyms();
    for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);) {
        if (!symbol->is_function() || !names.contains(symbol->name))
            continue;
        if (auto found = out.find({std::string(symbol->name), std::string(symbol->module)}); found != out.end())
            found->second = seen.insert(found->first).second ? symbol->address : 0;
    }
    return out;
}

// Attaches all functions of a probe by as few kprobe_multi links as possible.
Result<void> attach_many_functions(const plan::Probe& probe, const KernelObject& kernel, PlaceArmer& armer,
                                   Attachments& out, std::vector<std::string>& refused) {
    UprobeTargets targets;
    targets.program = probe.symbol;
    targets.at_return = plan::traits(probe.kind).at_return;
    std::map<std::pair<std::string, std::string>, uint64_t> found = find_functions(probe);
    for (const plan::Point& point : probe.points) {
        uint64_t address = found[{point.symbol, point.module}];
        if (address == 0) {
            refused.push_back(point.pp);
            continue;
        }
        add(targets, point, address);
    }
    targets.path.clear();
    const PlaceArmer::Attach attach = [&](const UprobeTargets& some) {
        return attach_kprobe_multi(kernel.program_fd(some.program), some);
    };
    return targets.offsets.empty() ? Result<void>() : armer.arm_by_halves(attach, targets, out, refused);
}

// Returns whether the kernel runs several programs at one place in the order in which they were attached. This is a
// fixed property of some kinds (`as_written`). It also holds for kretprobes without kprobe_multi: the kernel takes the
// instances of a return from a stack.
bool runs_first_attached(plan::ProbeKind kind, plan::Mechanism mechanism) {
    return plan::traits(kind).as_written ||
           (plan::traits(kind).at_return && mechanism == plan::Mechanism::KprobeEvents);
}

// The points of one probe statement in the script, which may be several probes in the plan.
struct Tally {
    size_t points = 0, refused = 0;
    std::string why; // the reason for the first refused point
};

// Attaches the points of a probe. Some functions that match a pattern cannot be probed, and the kernel reports this
// only now; `tally` counts them. Returns an error only if it does not concern a single point.
Result<void> attach_points(const plan::Probe& probe, plan::Mechanism mechanism, const KernelObject& kernel,
                           const ToArm& to_arm, PlaceArmer& armer, Attachments& out, Tally& tally) {
    const bool together = mechanism == plan::Mechanism::KprobeMulti;
    size_t refused = 0;
    std::string why;
    bool syscalls = false;
    if (together) {
        std::vector<std::string> names;
        if (Result<void> attached = attach_many_functions(probe, kernel, armer, out, names); !attached)
            return attached;
        refused = names.size();
        if (refused > 0)
            why = fmt::format("the kernel does not allow tracing of {}", names[0]);
        if (refused == probe.points.size())
            why = fmt::format("cannot attach to any of {} functions: {}", refused, why);
    }
    for (const plan::Point& point : probe.points) {
        if (together)
            break;
        if (to_arm.stop())
            return PlaceArmer::ended();
        // A single tracepoint serves all system calls.
        if (point.is_system_call() && std::exchange(syscalls, true))
            continue;
        // Watchpoints in processes are set when the processes start (watchpoint.h).
        if (mechanism == plan::Mechanism::Watchpoint && !point.watch.is_kernel)
            continue;
        Result<void> attached = attach_point(probe, point, attaching(mechanism), kernel, to_arm.threads, out);
        if (attached)
            continue;
        if (refused++ == 0)
            why = attached.error().message;
        const int error = attached.error().os_error;
        if (syscalls || error == EMFILE || error == ENFILE)
            return std::move(attached).error();
    }
    tally.points += probe.points.size();
    tally.refused += refused;
    if (tally.why.empty())
        tally.why = std::move(why);
    return {};
}

// Returns an error if none of a probe's points could be attached, and warns if some could not.
Result<void> judge(const std::map<std::string, Tally>& tallies) {
    for (const auto& [place, tally] : tallies) {
        if (tally.refused > 0 && tally.refused == tally.points)
            return Error(tally.why);
        if (tally.refused > 0)
            warn(fmt::format("{} of {} points are skipped: {}", tally.refused, tally.points, tally.why));
    }
    return {};
}

// Returns whether these are return instructions that are also the first instruction of their function, such as a lone
// `ret`.
bool returns_where_it_begins(const plan::Plan& plan, const UprobeTargets& targets) {
    const plan::Probe& probe = plan.probes[targets.probe];
    return probe.at_instruction && plan::traits(probe.kind).at_return && targets.program == probe.symbol &&
           std::ranges::any_of(probe.points,
                               [](const plan::Point& point) { return point.offset == point.entry_offset; });
}

} // namespace

ArmedPlaces armed_places(const Attachments& attachments, int64_t process) {
    ArmedPlaces out;
    for (const std::unique_ptr<Attachment>& one : attachments)
        if (!one->offsets.empty() && (one->process == 0 || one->process == process))
            out[one->path].insert(one->offsets.begin(), one->offsets.end());
    return out;
}

Result<Attachments> attach_probes(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files,
                                  const SoundPlaces& places, const plan::LinkKinds& links, const ToArm& to_arm,
                                  std::vector<std::string>& refused) {
    std::vector<UprobeTargets> all;
    PlaceArmer armer(plan, to_arm.stop);
    auto index_of = [&](const plan::Probe& probe) { return static_cast<uint32_t>(&probe - plan.probes.data()); };
    // For uprobes, the kernel runs the program that was attached last first. So attach in the reverse order of the
    // script.
    for (auto at = plan.probes.rbegin(); at != plan.probes.rend(); ++at) {
        const plan::Probe& probe = *at;
        if (!plan::is_uprobe(probe.kind))
            continue;
        for (UprobeTargets& targets : group(probe, probe.symbol, false, places, to_arm.left_out))
            all.push_back(std::move(targets));
        // The first instruction of a function may also be the one that leaves it: a lone `ret`, or a jump. The entry's
        // program is attached after the return's program. So it runs first there, and saves the values before the
        // return's program needs them. Also, when a call is saved, its return is already probed.
        if (!probe.entry_program.empty())
            for (UprobeTargets& targets : group(probe, probe.entry_program, true, places, to_arm.left_out))
                all.push_back(std::move(targets));
        for (UprobeTargets& targets : all)
            if (targets.probe == Attachment::no_probe)
                targets.probe = index_of(probe);
    }
    // At a shared instruction the call must run before the return, even if the script has the return first. So attach
    // returns first.
    std::ranges::stable_partition(all,
                                  [&](const UprobeTargets& targets) { return returns_where_it_begins(plan, targets); });
    Attachments out;
    auto tag = [&](size_t first, uint32_t probe) {
        for (size_t i = first; i < out.size(); i++)
            out[i]->probe = probe;
    };
    auto attach_all_points = [&](const plan::Probe& probe, Tally& tally) {
        size_t first = out.size();
        Result<void> attached =
            attach_points(probe, plan::mechanism_of(probe, links), kernel, to_arm, armer, out, tally);
        tag(first, index_of(probe));
        return attached;
    };
    std::map<std::string, Tally> tallies; // by the position of the probe in the script
    auto by_points = [&](const plan::Probe& probe, bool as_written) {
        const plan::Mechanism mechanism = plan::mechanism_of(probe, links);
        return (attaching(mechanism) || mechanism == plan::Mechanism::KprobeMulti) &&
               runs_first_attached(probe.kind, mechanism) == as_written;
    };
    for (const plan::Probe& probe : plan.probes)
        if (by_points(probe, true))
            if (Result<void> attached = attach_all_points(probe, tallies[probe.place]); !attached)
                return std::move(attached).error();
    for (auto probe = plan.probes.rbegin(); probe != plan.probes.rend(); ++probe)
        if (by_points(*probe, false))
            if (Result<void> attached = attach_all_points(*probe, tallies[probe->place]); !attached)
                return std::move(attached).error();
    if (Result<void> judged = judge(tallies); !judged)
        return std::move(judged).error();
    for (UprobeTargets& targets : all) {
        targets.attach_name = files.attach_name(targets.path);
        const MappedCode mapped(targets.attach_name);
        const PlaceArmer::Attach attach = [&](const UprobeTargets& some) {
            Result<std::unique_ptr<Attachment>> made = links.uprobe_multi || some.is_session
                                                           ? attach_uprobe_multi(kernel.program_fd(some.program), some)
                                                           : attach_perf_event(kernel.object(), some);
            if (made) {
                (*made)->path = some.path;
                (*made)->offsets = some.offsets;
                (*made)->process = some.process;
            }
            return made;
        };
        const size_t before = out.size();
        Result<void> attached = armer.arm(attach, targets, out, refused);
        if (!attached)
            return std::move(attached).error();
        tag(before, targets.probe);
    }
    // A point whose instruction cannot be probed is skipped, unless no point is left at all.
    if (out.empty() && !refused.empty())
        return Error(fmt::format("cannot attach to {}: the kernel cannot probe the instruction there", refused.back()));
    return out;
}

} // namespace sonde
