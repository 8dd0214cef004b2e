// Derived values of the plan, and its text form.
#include "runtime/plan/plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/task_arrays.h"

namespace sonde::plan {

int64_t number_in(const KeyPart& part, const char* key) {
    int64_t wide = 0;
    int32_t narrow = 0;
    if (part.size == sizeof wide) {
        std::memcpy(&wide, key + part.offset, sizeof wide);
        return wide;
    }
    std::memcpy(&narrow, key + part.offset, sizeof narrow);
    return part.is_signed ? narrow : static_cast<int64_t>(static_cast<uint32_t>(narrow));
}

bool Probe::has_subjects() const {
    return is_task_event(kind) || std::any_of(points.begin(), points.end(), [](const Point& point) {
               return point.pid != 0 || !point.program.empty();
           });
}

bool Plan::has_subjects() const {
    return std::any_of(probes.begin(), probes.end(), [](const Probe& probe) { return probe.has_subjects(); });
}

bool Plan::has(bool (*wanted)(ProbeKind)) const {
    return std::any_of(probes.begin(), probes.end(), [&](const Probe& probe) { return wanted(probe.kind); });
}

bool Plan::follows_tasks() const {
    return std::any_of(probes.begin(), probes.end(),
                       [](const Probe& probe) { return plan::follows_tasks(probe.kind); });
}

uint64_t Probe::subject_group(ProbeKind kind, uint32_t probe, uint32_t row) {
    return is_task_event(kind) ? probe : 1ull << 32 | row;
}

bool Probe::changes_return_addresses() const {
    return is_uprobe(kind) && traits(kind).at_return && !at_instruction && !is_session;
}

// A kprobe_multi link cannot serve probes with values from the entry. Handlers find these values by the stack position
// of the return address, which the link's handler hides at the return.
bool Probe::fits_kprobe_multi() const {
    return is_kernel_breakpoint(kind) && points.size() > 1 && entry_program.empty() && !reads_registers &&
           std::all_of(points.begin(), points.end(), [](const Point& one) { return one.offset == 0; });
}

// The kernel runs the programs of one function's breakpoints and of its kprobe_multi links in two groups, so handlers
// of one hit do not run in the script's order. If a function has both, its probes are all breakpoints, which takes the
// kernel longer to set.
bool Plan::fits_kprobe_multi() const {
    using Function = std::pair<std::string_view, std::string_view>; // module and symbol
    std::set<Function> linked, other;
    for (const Probe& probe : probes)
        if (is_kernel_breakpoint(probe.kind))
            for (const Point& point : probe.points)
                if (point.offset == 0)
                    (probe.fits_kprobe_multi() ? linked : other).emplace(point.module, point.symbol);
    return !linked.empty() && std::ranges::none_of(other, [&](const Function& one) { return linked.contains(one); });
}

Mechanism mechanism_of(const Probe& probe, const LinkKinds& links) {
    if (!probe.in_kernel)
        return Mechanism::None;
    if (probe.is_session)
        return Mechanism::UprobeSession;
    if (is_uprobe(probe.kind) && links.uprobe_multi)
        return Mechanism::UprobeMulti;
    if (probe.fits_kprobe_multi() && links.kprobe_multi)
        return Mechanism::KprobeMulti;
    return traits(probe.kind).mechanism;
}

const char* name_of(Mechanism mechanism) {
    static const char* const names[] = {
#define MECHANISM(id, name, attach) name,
#include "runtime/plan/mechanisms.def"
#undef MECHANISM
    };
    return names[static_cast<size_t>(mechanism)];
}

const char* type_at(ProbeKind kind, const Point& point) {
    if (is_about(kind, Subject::Tracepoint) && point.is_system_call())
        kind = point.symbol == "sys_exit" ? ProbeKind::SyscallReturn : ProbeKind::Syscall;
    return name_of(kind);
}

bool Plan::follows_moved_text() const { return has(is_uprobe) && std::ranges::any_of(files, &ProbedFile::may_move); }

uint64_t Plan::marks_size() const { return std::bit_ceil(std::max<uint64_t>({1, rows.size(), probes.size()})); }

std::string dump(const Plan& plan, const LinkKinds& links) {
    std::string out = fmt::format("plan for {}: {} bytes of BPF, {} bytes of host code, {} bytes of data\n",
                                  plan.script, plan.bpf_object.size(), plan.host_object.size(), plan.data_size);
    for (const Global& global : plan.globals) {
        static const char* const types[] = {"long", "string", "stats"};
        std::string where = global.keys.empty()   ? fmt::format("data+{}", global.offset)
                            : is_in_tasks(global) ? "task storage " + global.map
                            : global.in_kernel    ? "map " + global.map
                                                  : "host memory";
        out += fmt::format("global {}: {} with {} keys in {}{}\n", global.name, types[static_cast<int>(global.type)],
                           global.keys.size(), where, global.auto_print ? ", printed at the end" : "");
    }
    for (const Probe& probe : plan.probes) {
        const Mechanism mechanism = mechanism_of(probe, links);
        out += fmt::format("probe {} ({}) at {}: {} in the {}, frame {}{}{}\n", probe.name, name_of(probe.kind),
                           probe.place, probe.symbol, probe.in_kernel ? "kernel" : "host", probe.frame_size,
                           mechanism == Mechanism::None ? "" : ", by ",
                           mechanism == Mechanism::None ? "" : name_of(mechanism));
        if (probe.lock)
            out += fmt::format("  locks data+{} for {}\n", probe.lock, probe.locked_for);
        for (const Point& point : probe.points)
            out += point.symbol.empty()
                       ? fmt::format("  row {}: {} {}+{:#x}\n", point.row, point.pp, point.path, point.offset)
                       : fmt::format("  row {}: {} {}{}{}\n", point.row, point.pp, point.module,
                                     point.module.empty() ? "" : ":", point.symbol);
    }
    for (size_t i = 0; i < plan.sites.size(); i++)
        out += fmt::format("site {}: {} near {}\n", i, plan.sites[i].message.text, plan.sites[i].near.text);
    for (size_t i = 0; i < plan.calls.size(); i++)
        out += fmt::format("call {}: {}\n", i, plan.calls[i].text);
    return out;
}

bool Plan::reads_standard_input() const {
    return std::ranges::any_of(probes, [](const Probe& probe) {
        return traits(probe.kind).cause == Cause::Write && std::ranges::any_of(probe.points, [](const Point& point) {
                   return point.path == "__stdin" || point.path == "__stdin_line";
               });
    });
}

} // namespace sonde::plan
