// Resolves perf.type(T).config(C) and its names perf.hw.*, perf.sw.* and perf.hw_cache.*. The handler runs after a
// number of events (.sample), or at a rate (.hz).
//
// Sources of types and numbers: include/uapi/linux/perf_event.h and perf_event_open(2).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <fmt/format.h>
#include <linux/perf_event.h>

#include "base/glob.h"
#include "frontend/probes/kind_process.h"
#include "frontend/probes/probe.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

struct Name {
    const char* name;
    uint64_t number;
};
constexpr Name hardware[] = {
    {"cpu_cycles", PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_references", PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache_misses", PERF_COUNT_HW_CACHE_MISSES},
    {"branch_instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch_misses", PERF_COUNT_HW_BRANCH_MISSES},
    {"bus_cycles", PERF_COUNT_HW_BUS_CYCLES},
    {"stalled_cycles_frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled_cycles_backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"ref_cpu_cycles", PERF_COUNT_HW_REF_CPU_CYCLES},
};
constexpr Name software[] = {
    {"cpu_clock", PERF_COUNT_SW_CPU_CLOCK},
    {"task_clock", PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu_migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
    {"page_faults_min", PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"page_faults_maj", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"alignment_faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation_faults", PERF_COUNT_SW_EMULATION_FAULTS},
};
constexpr Name caches[] = {
    {"l1d", PERF_COUNT_HW_CACHE_L1D},   {"l1i", PERF_COUNT_HW_CACHE_L1I},   {"ll", PERF_COUNT_HW_CACHE_LL},
    {"dtlb", PERF_COUNT_HW_CACHE_DTLB}, {"itlb", PERF_COUNT_HW_CACHE_ITLB}, {"bpu", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE},
};
constexpr Name operations[] = {
    {"read", PERF_COUNT_HW_CACHE_OP_READ},
    {"write", PERF_COUNT_HW_CACHE_OP_WRITE},
    {"prefetch", PERF_COUNT_HW_CACHE_OP_PREFETCH},
};
constexpr Name outcomes[] = {
    {"access", PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"miss", PERF_COUNT_HW_CACHE_RESULT_MISS},
};

// An event of perf_event_open(2).
struct Event {
    std::string text; // as in pp()
    uint32_t type = 0;
    uint64_t config = 0;
};

// Replaces each event by its combinations with the names that match the component at `index`. `shift` is the position
// of the name's number in the config word. For `perf.hw_cache.l1d.*.miss`, three calls give one cache (shift 0), three
// operations (shift 8) and one outcome (shift 16), that is three events. Returns false after reporting an error.
bool add_names(Resolving& resolving, size_t index, std::span<const Name> names, int shift, std::vector<Event>& events) {
    const PointComponent* component = resolving.at(index);
    std::vector<Event> out;
    std::vector<std::string> all;
    for (const Name& one : names)
        all.emplace_back(one.name);
    for (const Event& event : events)
        for (const Name& one : names)
            if (component && glob_match(component->name, one.name))
                out.push_back(
                    {fmt::format("{}.{}", event.text, one.name), event.type, event.config | one.number << shift});
    events = std::move(out);
    if (events.empty()) {
        report_component(resolving, index, all);
        return false;
    }
    return expect_argument(resolving, *component, PointComponent::None);
}

// Reads the event's components and sets `next` to the index of the component after them. Returns an empty list after
// reporting an error.
std::vector<Event> read_events(Resolving& resolving, size_t& next) {
    const PointComponent* first = resolving.at(1);
    std::vector<Event> events;
    if (first && first->name == "type") {
        const PointComponent* config = resolving.at(2);
        if (!expect_argument(resolving, *first, PointComponent::Number))
            return {};
        if (first->number < 0 || first->number > UINT32_MAX) {
            resolving.diags.report(DiagId::BadNumber, first->arg_range, "a type must fit 32 bits")
                .help("`/sys/bus/event_source/devices/*/type` contains this machine's types");
            return {};
        }
        if (!config || config->name != "config") {
            report_component(resolving, 2, {"config"});
            return {};
        }
        if (!expect_argument(resolving, *config, PointComponent::Number))
            return {};
        next = 3;
        return {{fmt::format("perf.type({}).config({})", first->number, config->number),
                 static_cast<uint32_t>(first->number), static_cast<uint64_t>(config->number)}};
    }
    bool cache = first && first->name == "hw_cache";
    if (!first || (first->name != "hw" && first->name != "sw" && !cache)) {
        report_component(resolving, 1, {"type", "hw", "sw", "hw_cache"});
        return {};
    }
    if (!expect_argument(resolving, *first, PointComponent::None))
        return {};
    // The event's number consists of parts for hw_cache: the cache, the operation and the result, in 8 bits each.
    uint32_t type = cache ? PERF_TYPE_HW_CACHE : first->name == "hw" ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
    events = {{"perf." + first->name, type, 0}};
    next = cache ? 5 : 3;
    bool good = cache ? add_names(resolving, 2, caches, 0, events) && add_names(resolving, 3, operations, 8, events) &&
                            add_names(resolving, 4, outcomes, 16, events)
                : type == PERF_TYPE_HARDWARE ? add_names(resolving, 2, hardware, 0, events)
                                             : add_names(resolving, 2, software, 0, events);
    return good ? events : std::vector<Event>();
}

// The components after the event; each may occur once, in any order.
struct Suffixes {
    const PointComponent* rate = nullptr; // sample or hz
    const PointComponent* process = nullptr;
    const PointComponent* counter = nullptr;
};

// Reads .sample(N), .hz(N), .process, .process("P") and .counter("name"). Returns nullopt after reporting an error.
std::optional<Suffixes> read_suffixes(Resolving& resolving, size_t next) {
    Suffixes out;
    for (; const PointComponent* one = resolving.at(next); next++) {
        std::vector<std::string> allowed;
        if (!out.rate)
            allowed = {"sample", "hz"};
        if (!out.process)
            allowed.emplace_back("process");
        if (!out.counter)
            allowed.emplace_back("counter");
        if (std::find(allowed.begin(), allowed.end(), one->name) == allowed.end()) {
            report_component(resolving, next, allowed);
            return std::nullopt;
        }
        bool rate = one->name == "sample" || one->name == "hz";
        bool plain = one->name == "process" && one->arg == PointComponent::None;
        if (!plain && !expect_argument(resolving, *one, rate ? PointComponent::Number : PointComponent::String))
            return std::nullopt;
        (rate ? out.rate : one->name == "process" ? out.process : out.counter) = one;
        if (rate && one->number <= 0) {
            resolving.diags.report(DiagId::BadNumber, one->arg_range,
                                   fmt::format("`{}` needs a number above 0", one->name));
            return std::nullopt;
        }
    }
    if (out.rate && out.counter) {
        resolving.diags
            .report(DiagId::UnknownProbePoint, out.rate->range,
                    fmt::format("a counter cannot have a `{}`", out.rate->name))
            .help(fmt::format("remove it, and read the counter in a probe of a process: `@perf({})`",
                              quoted(out.counter->text)));
        return std::nullopt;
    }
    return out;
}

// Whether this machine can count such events. Reports an error if not.
bool can_count(Resolving& resolving, const Event& event, const plan::PerfSpec& spec) {
    if (resolving.env.listing || !resolving.env.try_counter)
        return true;
    int err = resolving.env.try_counter(spec);
    // Missing privileges are reported later, when everything else is ready.
    if (err == 0 || err == EACCES || err == EPERM || err == EMFILE || err == EBUSY)
        return true;
    Range range = resolving.components()[1].range;
    range.end = resolving.components().back().range.end;
    DiagBuilder report = resolving.diags.report(
        DiagId::Unsupported, range, fmt::format("this machine cannot count `{}`: {}", event.text, std::strerror(err)));
    if (event.type == PERF_TYPE_HARDWARE || event.type == PERF_TYPE_HW_CACHE)
        report.help("the processor does not have this counter, or a virtual machine hides it")
            .help("`perf.sw.*` counts events of the kernel itself; `sonde -l 'perf.sw.*'` lists them");
    else if (err == EINVAL && spec.is_frequency)
        report.help("the highest frequency is in `/proc/sys/kernel/perf_event_max_sample_rate`");
    return false;
}

} // namespace

// A point can stand for several events (patterns) and several programs; each combination gets one point.
std::vector<ResolvedPoint> resolve_perf(Resolving& resolving) {
    if (!expect_argument(resolving, resolving.components()[0], PointComponent::None))
        return {};
    size_t next = 0;
    std::vector<Event> events = read_events(resolving, next);
    if (events.empty())
        return {};
    std::optional<Suffixes> suffixes = read_suffixes(resolving, next);
    if (!suffixes)
        return {};
    if (suffixes->counter && events.size() > 1) {
        resolving.diags.report(
            DiagId::UnknownProbePoint, suffixes->counter->range,
            fmt::format("a counter counts one event, but this point stands for {}, such as `{}` and `{}`",
                        events.size(), events[0].text, events[1].text));
        return {};
    }
    std::vector<std::string> programs = {""};
    const bool as_written = suffixes->process && resolving.env.listing;
    if (as_written) {
        const PointComponent& process = *suffixes->process;
        Result<std::string> found = find_file(process.text);
        if (process.arg == PointComponent::String && !found && !has_wildcard(process.text))
            resolving.diags.report(DiagId::OnlyListed, process.arg_range, found.error().message);
    } else if (suffixes->process) {
        ast::ProbePoint named;
        named.components = {*suffixes->process};
        Resolving process{named, resolving.env, resolving.diags};
        Programs found = find_programs(process, false);
        if (found.paths.empty())
            return {};
        programs = found.paths;
    }
    constexpr uint64_t usual_sample = 1'000'000;
    std::vector<ResolvedPoint> points;
    for (const Event& event : events) {
        plan::PerfSpec spec{event.type, event.config, usual_sample, false};
        std::string text = event.text;
        if (suffixes->rate) {
            spec.sample = static_cast<uint64_t>(suffixes->rate->number);
            spec.is_frequency = suffixes->rate->name == "hz";
            text += fmt::format(".{}({})", suffixes->rate->name, suffixes->rate->number);
        }
        // A counter is only read by other probes, so it never interrupts.
        if (suffixes->counter)
            spec.sample = 0;
        if (!can_count(resolving, event, spec))
            return {};
        for (const std::string& program : programs) {
            ResolvedPoint resolved;
            resolved.kind = plan::ProbeKind::Perf;
            resolved.in_kernel = true;
            resolved.point.perf = spec;
            resolved.point.program = program;
            resolved.point.pp = text;
            if (as_written)
                resolved.point.pp += suffixes->process->arg == PointComponent::None
                                         ? ".process"
                                         : fmt::format(".process({})", quoted(suffixes->process->text));
            else if (!program.empty())
                resolved.point.pp += fmt::format(".process({})", quoted(program));
            if (suffixes->counter) {
                resolved.counter = suffixes->counter->text;
                // A counter's body is checked but never runs.
                resolved.kind = plan::ProbeKind::Never;
                resolved.in_kernel = false;
                resolved.point.pp += fmt::format(".counter({})", quoted(suffixes->counter->text));
                points = {resolved};
                return points;
            }
            points.push_back(std::move(resolved));
        }
    }
    return points;
}

} // namespace sonde
