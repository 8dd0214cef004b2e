// Finds pairs of probes that mark the begin and the end of a call.
//
// The pairs are found by the texts of the probe points. `stem` is the text without the part that differs:
//
//     syscall.read          syscall.read.return           stem syscall.read
//     kernel.trace("x_entry")    kernel.trace("x_exit")   stem kernel.trace("x
//
// A pattern such as `syscall.*` was expanded to single points before, so each call has its own pair.
//
// Two probes can have the same point. Only one of them may report a call, or the call would be drawn twice. A probe
// without a condition is preferred, because it sees all calls.
#include "runtime/values/calls.h"

#include <optional>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/values/printed_values.h"

namespace sonde {
namespace {

constexpr std::string_view call_suffix = ".call";

constexpr std::string_view off_processor = "off the processor";

// Removes `.return` or `.call` from a point. Points of one function then have equal texts.
std::string_view stem_of(std::string_view point) {
    for (std::string_view suffix : {return_suffix, call_suffix})
        if (point.ends_with(suffix))
            return point.substr(0, point.size() - suffix.size());
    return point;
}

// One point of a pair.
struct Half {
    std::string stem; // equal for both points of a pair
    bool is_end = false;
    bool is_wait = false;
    std::string name; // of the call
};

// Suffixes of a point's text that mark a begin or an end: the naming conventions of tracepoints in the kernel, and of
// marks in interpreters and databases.
struct Ends {
    std::string_view within, begin, end;
};
constexpr Ends named_ends[] = {
    {"kernel.trace(", "_entry\")", "_exit\")"},  {"kernel.trace(", "_begin\")", "_end\")"},
    {"kernel.trace(", "_enter\")", "_exit\")"},  {".mark(", "__entry\")", "__return\")"},
    {".mark(", "__start\")", "__done\")"},       {".mark(", "__begin\")", "__end\")"},
    {"process", ".thread.begin", ".thread.end"},
};

// Returns a short name: of the system call, of the function, or the point without the path of its program.
std::string name_of(const plan::Point& point) {
    std::string_view stem = stem_of(point.pp);
    constexpr std::string_view program = "process(\"", of_program = "\").", call = "syscall.";
    if (stem.starts_with(call))
        return std::string(stem.substr(call.size()));
    if (size_t end = stem.find(of_program); stem.starts_with(program) && end != std::string_view::npos)
        stem = stem.substr(end + of_program.size());
    const bool is_function = stem.find("function(") != std::string_view::npos;
    return is_function && !point.function.empty() ? point.function : std::string(stem);
}

// Returns the name of a pair from named_ends: `function` for process("python3").mark("function__entry").
std::string name_of_pair(std::string_view stem) {
    const size_t quote = stem.rfind('"'), colon = stem.rfind(':');
    if (quote == std::string_view::npos)
        return "thread";
    return std::string(stem.substr(std::max(quote, colon == std::string_view::npos ? 0 : colon) + 1));
}

Half half_of(const plan::Point& point) {
    // Both aliases use the tracepoint sched_switch. The record of cpu_off has the task that leaves the processor, the
    // record of cpu_on the task that follows it.
    for (const auto& [alias, is_end] : {std::pair("scheduler.cpu_off", false), {"scheduler.cpu_on", true}})
        if (point.pn == alias)
            return {std::string(off_processor), is_end, true, std::string(off_processor)};
    const std::string_view text = point.pp;
    for (const Ends& ends : named_ends)
        for (const auto& [word, is_end] : {std::pair(ends.begin, false), {ends.end, true}})
            if (text.ends_with(word) && text.find(ends.within) != std::string_view::npos) {
                const std::string_view stem = text.substr(0, text.size() - word.size());
                return {std::string(stem), is_end, false, name_of_pair(stem)};
            }
    return {std::string(stem_of(text)), text.ends_with(return_suffix), false, name_of(point)};
}

// The two probes that report a function's calls. If several probes have one point, the first one reports, and those
// without a condition are preferred. The other probes would report the same call again.
struct Pair {
    std::optional<size_t> entry, exit;
};

} // namespace

// Works in two passes. The first one finds the reporting probes of each pair: for `function("f").call` and
// `function("f").return`, the common stem is `function("f")`. The second one assigns a role to each row: Begin or End
// if the pair is complete, else Instant.
std::vector<HitRow> find_hit_rows(const plan::Plan& plan) {
    std::vector<HitRow> out(plan.rows.size());
    std::map<std::string, Pair> pairs;
    for (const bool with_condition : {false, true})
        for (size_t i = 0; i < plan.probes.size(); i++) {
            const plan::Probe& probe = plan.probes[i];
            if (!tells_hits(probe) || probe.has_condition != with_condition)
                continue;
            for (const plan::Point& point : probe.points) {
                const Half half = half_of(point);
                Pair& pair = pairs[half.stem];
                std::optional<size_t>& first = half.is_end ? pair.exit : pair.entry;
                if (!first)
                    first = i;
            }
        }
    std::map<std::string, uint32_t> functions;
    for (size_t i = 0; i < plan.probes.size(); i++)
        for (const plan::Point& point : plan.probes[i].points) {
            if (!tells_hits(plan.probes[i]) || point.row >= out.size())
                continue;
            HitRow& row = out[point.row];
            const Half half = half_of(point);
            const Pair& pair = pairs[half.stem];
            row.is_return = half.is_end;
            if (!pair.entry || !pair.exit) {
                row.role = HitRole::Instant;
                row.name = half.is_wait ? point.pn : name_of(point);
                if (point.pp.ends_with(return_suffix))
                    row.name += return_suffix;
                continue;
            }
            row.name = half.name;
            row.is_wait = half.is_wait;
            row.function = functions.emplace(half.stem, static_cast<uint32_t>(functions.size())).first->second;
            if ((half.is_end ? *pair.exit : *pair.entry) == i)
                row.role = half.is_end ? HitRole::End : HitRole::Begin;
        }
    return out;
}

// Directives that are not from the script (About) carry the time and the task.
HitTask task_of(const plan::Format& format, std::span<const uint8_t> payload) {
    HitTask out;
    read_values(format, payload, [&](PrintedValue& value) {
        switch (value.directive->about) {
        case plan::About::Time:
            out.time_ns = value.number;
            break;
        case plan::About::Process:
            out.pid = value.number;
            break;
        case plan::About::Thread:
            out.tid = value.number;
            break;
        case plan::About::TaskName:
            out.name = value.text;
            break;
        case plan::About::Script:
            break;
        }
    });
    return out;
}

const std::string& ProcessNames::of(const HitTask& task) {
    const auto [at, is_new] = names_.try_emplace(task.pid);
    std::string& name = at->second;
    if (task.pid == task.tid) { // the process may have called exec since
        name = task.name;
    } else if (is_new) {
        const Result<std::string> comm = read_file(fmt::format("/proc/{}/comm", task.pid));
        name = comm && !comm->empty() ? comm->substr(0, comm->find('\n')) : task.name;
    }
    return name;
}

} // namespace sonde
