// From the plan's probes to links: places are grouped by program and file, since taking a link off costs a wait for
// each.
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

std::vector<UprobeTargets> group(const plan::Probe& probe, const std::string& program, bool entry,
                                 const SoundPlaces& places, const LeftOut& left_out) {
    std::map<std::string, UprobeTargets> files;
    std::set<std::pair<std::string, uint64_t>> seen;
    for (const plan::Point& point : probe.points)
        // What needs the entry is nothing without it. A function with several returns has one entry.
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

// Attaches what one point of a probe needs: first what saves values at a function's entry.
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

// The addresses of the probe's functions; a name that several functions have has none.
std::map<std::pair<std::string, std::string>, uint64_t> find_functions(const plan::Probe& probe) {
    std::map<std::pair<std::string, std::string>, uint64_t> out;
    std::unordered_set<std::string_view> names; // nearly no line is of one of these
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

// Of several programs at one place the kernel runs the one that was attached first first: always at this kind's, and
// where functions' returns are hooked one by one, which it takes from a stack.
bool runs_first_attached(plan::ProbeKind kind, plan::Mechanism mechanism) {
    return plan::traits(kind).as_written ||
           (plan::traits(kind).at_return && mechanism == plan::Mechanism::KprobeEvents);
}

// What came of the points of a probe as the script has it, which may be several here.
struct Tally {
    size_t points = 0, refused = 0;
    std::string why; // the first one was refused
};

// Of many functions that a pattern has found, some cannot be probed, which shows only now. An error is one that is not
// about single points.
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
            why = fmt::format("the kernel does not let {} be traced", names[0]);
        if (refused == probe.points.size())
            why = fmt::format("cannot attach to any of {} functions: {}", refused, why);
    }
    for (const plan::Point& point : probe.points) {
        if (together)
            break;
        if (to_arm.stop())
            return PlaceArmer::ended();
        // One tracepoint is that of all system calls.
        if (point.is_system_call() && std::exchange(syscalls, true))
            continue;
        // Processes' memory is watched from when they are there (watchpoint.h).
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

// An error where nothing is left of a probe.
Result<void> judge(const std::map<std::string, Tally>& tallies) {
    for (const auto& [place, tally] : tallies) {
        if (tally.refused > 0 && tally.refused == tally.points)
            return Error(tally.why);
        if (tally.refused > 0)
            warn(fmt::format("{} of {} points are left out: {}", tally.refused, tally.points, tally.why));
    }
    return {};
}

// Whether these are returns of functions that begin with the instruction which leaves them.
bool returns_where_it_begins(const plan::Plan& plan, const UprobeTargets& targets) {
    const plan::Probe& probe = plan.probes[targets.probe];
    return probe.at_instruction && plan::traits(probe.kind).at_return && targets.program == probe.symbol &&
           std::ranges::any_of(probe.points,
                               [](const plan::Point& point) { return point.offset == point.entry_offset; });
}

} // namespace

Result<Attachments> attach_probes(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files,
                                  const SoundPlaces& places, const plan::Ways& ways, const ToArm& to_arm,
                                  std::vector<std::string>& refused) {
    std::vector<UprobeTargets> all;
    PlaceArmer armer(plan, to_arm.stop);
    auto index_of = [&](const plan::Probe& probe) { return static_cast<uint32_t>(&probe - plan.probes.data()); };
    // Of several probes at one place the kernel runs the one that came last first: attached from behind, they run as
    // the script has them.
    for (auto at = plan.probes.rbegin(); at != plan.probes.rend(); ++at) {
        const plan::Probe& probe = *at;
        if (!plan::is_uprobe(probe.kind))
            continue;
        for (UprobeTargets& targets : group(probe, probe.symbol, false, places, to_arm.left_out))
            all.push_back(std::move(targets));
        // A function's entry may be where it leaves, too: a lone `ret`, or a jump. What it saves is there before its
        // return asks for it then, and a call that is saved is never one whose return is not watched yet.
        if (!probe.entry_program.empty())
            for (UprobeTargets& targets : group(probe, probe.entry_program, true, places, to_arm.left_out))
                all.push_back(std::move(targets));
        for (UprobeTargets& targets : all)
            if (targets.probe == Attachment::no_probe)
                targets.probe = index_of(probe);
    }
    // At one instruction a call comes before its return, whichever is first in the script.
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
            attach_points(probe, plan::mechanism_of(probe, ways), kernel, to_arm, armer, out, tally);
        tag(first, index_of(probe));
        return attached;
    };
    std::map<std::string, Tally> tallies; // by where the probe is in the script
    auto by_points = [&](const plan::Probe& probe, bool as_written) {
        const plan::Mechanism mechanism = plan::mechanism_of(probe, ways);
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
            return ways.uprobe_multi || some.is_session ? attach_uprobe_multi(kernel.program_fd(some.program), some)
                                                        : attach_perf_event(kernel.object(), some);
        };
        const size_t before = out.size();
        Result<void> attached = armer.arm(attach, targets, out, refused);
        if (!attached)
            return std::move(attached).error();
        tag(before, targets.probe);
    }
    // An instruction that cannot be probed leaves out its point, and what else the script does goes on.
    if (out.empty() && !refused.empty())
        return Error(fmt::format("cannot attach to {}: the kernel cannot probe the instruction there", refused.back()));
    return out;
}

} // namespace sonde
