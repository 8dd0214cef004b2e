#include "runtime/calls.h"

#include <optional>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/printed_values.h"

namespace sonde {
namespace {

constexpr std::string_view call_suffix = ".call";

// The point without what tells an entry from a return: the same text is the same function.
std::string_view stem_of(std::string_view point) {
    for (std::string_view suffix : {return_suffix, call_suffix})
        if (point.ends_with(suffix))
            return point.substr(0, point.size() - suffix.size());
    return point;
}

// A system call's name, a function's, or the point without the program.
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

// The probes of a function that its calls are made of: of several at one place the first, one without a condition
// before the others. The others' hits say the same call again.
struct Pair {
    std::optional<size_t> entry, exit;
};

} // namespace

std::vector<HitRow> find_hit_rows(const plan::Plan& plan) {
    std::vector<HitRow> out(plan.rows.size());
    std::map<std::string_view, Pair> pairs;
    for (const bool with_condition : {false, true})
        for (size_t i = 0; i < plan.probes.size(); i++) {
            const plan::Probe& probe = plan.probes[i];
            if (!tells_hits(probe) || probe.has_condition != with_condition)
                continue;
            for (const plan::Point& point : probe.points) {
                Pair& pair = pairs[stem_of(point.pp)];
                std::optional<size_t>& half = point.pp.ends_with(return_suffix) ? pair.exit : pair.entry;
                if (!half)
                    half = i;
            }
        }
    std::map<std::string_view, uint32_t> functions;
    for (size_t i = 0; i < plan.probes.size(); i++)
        for (const plan::Point& point : plan.probes[i].points) {
            if (!tells_hits(plan.probes[i]) || point.row >= out.size())
                continue;
            HitRow& row = out[point.row];
            const std::string_view stem = stem_of(point.pp);
            const Pair& pair = pairs[stem];
            row.name = name_of(point);
            row.is_return = point.pp.ends_with(return_suffix);
            if (!pair.entry || !pair.exit) {
                row.role = HitRole::Instant;
                if (row.is_return)
                    row.name += return_suffix;
                continue;
            }
            row.function = functions.emplace(stem, static_cast<uint32_t>(functions.size())).first->second;
            if ((row.is_return ? *pair.exit : *pair.entry) == i)
                row.role = row.is_return ? HitRole::End : HitRole::Begin;
        }
    return out;
}

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
    if (task.pid == task.tid) { // it may have become another program since
        name = task.name;
    } else if (is_new) {
        const Result<std::string> comm = read_file(fmt::format("/proc/{}/comm", task.pid));
        name = comm && !comm->empty() ? comm->substr(0, comm->find('\n')) : task.name;
    }
    return name;
}

} // namespace sonde
