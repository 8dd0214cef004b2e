// Measures the cost of each probe while the session runs; overload.h explains what is measured.
//
// Time is divided into pauses and windows. Only in a window does the kernel count the time of BPF programs:
//
//     pause 90 ms, window 10 ms, pause, window, ...    ten windows, then judge()
//     pause 990 ms, window 10 ms                       while no probe is near a warning or its limit
//
// A window is not free: to begin and to end it, the kernel changes its own code. That takes up to 7 ms of a processor
// in some virtual machines.
//
// Programs of a higher priority can make both much longer, as sonde then waits for a processor. So judge() also runs
// after a second with three windows.
//
// In a window, the difference of two readings gives the runs and the nanoseconds of each program. The hits of a second
// follow from the windows' total length.
//
// A trap cannot be counted in this way, since it happens before the program runs. It is the larger part of a uprobe's
// cost. So sonde calls a function of its own that has a breakpoint. The shortest time of 50 calls counts.
#include "runtime/engine/overload.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/clock.h"
#include "base/process_maps.h"
#include "base/result.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/probed_files.h"
#include "runtime/text/messages.h"

// Functions for measuring the cost of a trap. The kernel emulates the nop of the first one. It single-steps the ret of
// the second one, which costs a second trap.
extern "C" void sonde_emulated();
extern "C" void sonde_stepped();
asm(R"(
    .text
    .p2align 4
    .type sonde_emulated, @function
sonde_emulated:
    nop
    ret
    .size sonde_emulated, . - sonde_emulated
    .p2align 4
    .type sonde_stepped, @function
sonde_stepped:
    ret
    .size sonde_stepped, . - sonde_stepped
)");

namespace sonde {
namespace {

constexpr int64_t ms = 1'000'000, second = 1'000'000'000;
constexpr int64_t window = 10 * ms, longest_pause = 990 * ms;
constexpr int judged_windows = 10;  // windows that are judged together, about one second
constexpr int late_windows = 3;     // windows that are enough if the second is over
constexpr double costly_share = 10; // in percent of a processor; a warning is printed from this cost on
constexpr double many_hits = 2000;  // per second; from this rate on, the cost of a breakpoint is measured
constexpr double usual_breakpoint_ns = 1500;

// Returns the offset in this program's file for an address in its memory.
std::optional<uint64_t> offset_in_file(uint64_t address) {
    for (const ProcessMapping& mapping : read_own_maps())
        if (mapping.covers(address))
            return address - mapping.start + mapping.offset;
    return {};
}

// Returns the nanoseconds that a breakpoint adds to a call. Probes a function of this program, for this thread only.
// Returns nothing if the kernel does not allow it.
std::optional<double> measure_breakpoint(void (*function)()) {
    Result<std::string> type = read_file("/sys/bus/event_source/devices/uprobe/type");
    std::optional<uint64_t> offset = offset_in_file(reinterpret_cast<uint64_t>(function));
    if (!type || !offset)
        return {};
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = static_cast<uint32_t>(std::atoi(type->c_str()));
    attr.config1 = reinterpret_cast<uint64_t>("/proc/self/exe");
    attr.config2 = *offset;
    Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event)
        return {};
    // Take the minimum: interrupts and other disturbances only add time.
    int64_t least = second;
    for (int i = 0; i < 50; i++) {
        int64_t before = now_ns();
        function();
        least = std::min(least, now_ns() - before);
    }
    return static_cast<double>(least);
}

// Whether the kernel single-steps the probed instruction, which needs a second trap.
bool is_stepped(const plan::Point& point) {
    Fd file(open(point.path.c_str(), O_RDONLY | O_CLOEXEC));
    char code[plan::probed_bytes] = {};
    const ssize_t size = file ? pread(file.get(), code, sizeof code, static_cast<off_t>(point.offset)) : 0;
    return size > 0 && host_architecture().is_single_stepped(std::string_view(code, static_cast<size_t>(size)));
}

// A return probe also traps at the function's entry. If the probe has an entry program, its runs already count as hits.
int breakpoints_of_hit(const plan::Probe& probe) {
    return probe.changes_return_addresses() && probe.entry_program.empty() ? 2 : 1;
}

// How many breakpoints a call meets. Reports count the hits of the return only, and not the runs of its entry program.
int breakpoints_of_call(const plan::Probe& probe) {
    return probe.changes_return_addresses() || !probe.entry_program.empty() ? 2 : 1;
}

std::optional<double> measure_breakpoint(bool stepped) {
    return measure_breakpoint(stepped ? sonde_stepped : sonde_emulated);
}

// Returns the time of other events than breakpoints in user space: approximate values of current processors.
double usual_trap_ns(plan::ProbeKind kind) {
    if (plan::is_kernel_breakpoint(kind))
        return plan::traits(kind).at_return ? 600 : 300;
    return plan::is_sample(kind) ? 1000 : 30; // an interrupt, or a call
}

} // namespace

std::optional<double> measure_breakpoints(const plan::Probe& probe) {
    if (!plan::is_uprobe(probe.kind) || probe.points.empty())
        return {};
    const std::optional<double> one = measure_breakpoint(is_stepped(probe.points[0]));
    return one ? std::optional(*one * breakpoints_of_call(probe)) : std::nullopt;
}

TrapTime trap_of(const plan::Probe& probe) {
    if (!plan::is_uprobe(probe.kind))
        return {usual_trap_ns(probe.kind), false};
    const std::optional<double> measured = measure_breakpoints(probe);
    return {measured.value_or(usual_breakpoint_ns * breakpoints_of_call(probe)), measured.has_value()};
}

double default_overload_limit(const plan::Plan& plan) {
    constexpr double part = 75;
    return plan.filter_target ? std::numeric_limits<double>::infinity()
                              : part * static_cast<double>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
}

// Only probes with programs in the kernel are measured. Without any, the guard does nothing.
OverloadGuard::OverloadGuard(const plan::Plan& plan, const KernelObject& kernel, double limit)
    : plan_(plan), limit_(limit), costs_(plan.probes.size()) {
    for (size_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        if (!plan::is_event(probe.kind))
            continue;
        for (const std::string& program : {probe.symbol, probe.entry_program})
            if (int fd = program.empty() ? -1 : kernel.program_fd(program); fd >= 0)
                costs_[i].programs.push_back(fd);
    }
    is_refused_ = std::all_of(costs_.begin(), costs_.end(), [](const Cost& cost) { return cost.programs.empty(); });
}

namespace {
// Returns the runs of some programs and their nanoseconds, since the programs were loaded.
std::pair<uint64_t, uint64_t> runs_of(const std::vector<int>& programs) {
    std::pair<uint64_t, uint64_t> out;
    for (int fd : programs) {
        bpf_prog_info info{};
        uint32_t size = sizeof info;
        if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
            continue;
        out.first += info.run_cnt;
        out.second += info.run_time_ns;
    }
    return out;
}
} // namespace

void OverloadGuard::begin_window() {
    counting_.reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
    // The request needs CAP_SYS_ADMIN. Without it, the session has no overload guard.
    is_refused_ = !counting_;
    // The kernel changes its own code for this, which can take as long as a window.
    window_began_ = now_ns();
    for (Cost& cost : costs_)
        std::tie(cost.hits_before, cost.ns_before) = runs_of(cost.programs);
}

void OverloadGuard::end_window() {
    const int64_t now = now_ns();
    for (Cost& cost : costs_) {
        auto [hits, ns] = runs_of(cost.programs);
        cost.hits += hits - cost.hits_before;
        cost.ns += ns - cost.ns_before;
    }
    counting_.reset();
    watched_ += now - window_began_;
    windows_++;
    next_ = now + pause_;
}

double OverloadGuard::trap_ns(const plan::Probe& probe, double hits_a_second) {
    if (!plan::is_uprobe(probe.kind))
        return usual_trap_ns(probe.kind);
    const bool stepped = !probe.points.empty() && is_stepped(probe.points[0]);
    std::optional<double>& known = breakpoint_ns_[stepped];
    if (!known && hits_a_second >= many_hits)
        known = measure_breakpoint(stepped).value_or(usual_breakpoint_ns);
    return known.value_or(usual_breakpoint_ns) * breakpoints_of_hit(probe);
}

std::vector<OverloadGuard::Disarmed> OverloadGuard::judge(int64_t now) {
    std::vector<Disarmed> out;
    bool is_near = false; // some probe may soon need a warning, or reach the limit
    const double seconds = static_cast<double>(watched_) / second;
    for (uint32_t i = 0; i < costs_.size(); i++) {
        Cost& cost = costs_[i];
        const plan::Probe& probe = plan_.probes[i];
        const double hits = static_cast<double>(std::exchange(cost.hits, 0)),
                     ns = static_cast<double>(std::exchange(cost.ns, 0));
        if (hits == 0 || cost.is_disarmed)
            continue;
        const double trap = trap_ns(probe, hits / seconds), share = 100 * (ns + hits * trap) / (seconds * second);
        is_near = is_near || share >= limit_ / 2 || (is_rare() && !cost.is_said && share >= costly_share);
        if (is_rare() || share < std::min(costly_share, limit_))
            continue;
        const std::string what = fmt::format(
            "{:.0f}% of a processor, with {:.0f} hits a second of {:.2f} us each, of which the trap takes {:.2f}",
            share, hits / seconds, (ns / hits + trap) / 1000, trap / 1000);
        if (share >= limit_) {
            cost.is_disarmed = true;
            out.push_back({i, fmt::format("after {:.1f} s, as it took {} (--overload=off keeps it)",
                                          static_cast<double>(now - began_) / second, what)});
        } else if (!std::exchange(cost.is_said, true)) {
            const std::string point = probe.points.empty() ? "" : fmt::format(" ({})", probe.points[0].pn);
            warn(fmt::format("the probe at {}{} takes {}; --overload=PERCENT disarms such probes", probe.place, point,
                             what));
        }
    }
    pause_ = is_near ? shortest_pause : std::min(2 * pause_, longest_pause);
    windows_ = 0;
    watched_ = 0;
    judged_ = now;
    return out;
}

// A small state machine: pause, window, pause, window, ... and a judgment after some windows.
std::vector<OverloadGuard::Disarmed> OverloadGuard::look(int64_t now) {
    if (is_refused_)
        return {};
    if (began_ == 0) {
        began_ = judged_ = now;
        next_ = now + shortest_pause;
    }
    if (counting_) {
        if (now - window_began_ >= window)
            end_window();
    } else if (now >= next_) {
        begin_window();
    }
    // With long pauses, judge after a single window. If it shows a high load, the pauses become short, and more windows
    // are judged together.
    const int wanted = is_rare() ? 1 : now - judged_ >= second ? late_windows : judged_windows;
    if (counting_ || windows_ < wanted)
        return {};
    return judge(now);
}

} // namespace sonde
