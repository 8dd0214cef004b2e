#include "driver/repl/shared_pieces.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/text/accounting.h"

namespace sonde::repl {

Result<void> make_room(const Piece& piece, const Script& script, SharedMaps& maps) {
    for (const plan::Global& global : piece.plan.globals) {
        if (!plan::is_shared(global) || script.globals().find(global.name))
            continue;
        if (Result<void> added = maps.add(global, piece.plan.max_string); !added) {
            take_back(piece, script, maps);
            return added;
        }
    }
    return {};
}

void take_back(const Piece& piece, const Script& script, SharedMaps& maps) {
    for (const plan::Global& global : piece.plan.globals)
        if (plan::is_shared(global) && !script.globals().find(global.name))
            maps.remove(global);
}

bool runs_once(const plan::Plan& plan) {
    return std::ranges::all_of(
        plan.probes, [](const plan::Probe& probe) { return plan::traits(probe.kind).cause == plan::Cause::Start; });
}

bool runs_only_at_end(const plan::Plan& plan) {
    return std::ranges::all_of(plan.probes, [](const plan::Probe& probe) {
        return plan::runs_alone(probe.kind) && plan::traits(probe.kind).cause != plan::Cause::Start;
    });
}

std::string probe_line(int number, const std::string& text, const PieceCounts& counts) {
    std::string hits = counts.is_known ? counted(counts.hits, "hit") : "";
    if (counts.hits)
        hits += fmt::format(", {} ns each", counts.total_ns / counts.hits);
    if (counts.lost)
        hits += fmt::format(", {} lost", counts.lost);
    return fmt::format("{:>3}  {}{}\n", number, one_line(text), hits.empty() ? "" : "   # " + hits);
}

std::string ended_line(int number, const std::string& text, int status) {
    return fmt::format("probe {} has ended{}: {}\n", number,
                       status > 128                      ? fmt::format(" by signal {}", status - 128)
                       : status == exit_lossy || !status ? ""
                                                         : fmt::format(" with status {}", status),
                       one_line(text));
}

std::string one_line(const std::string& text) {
    std::string out;
    for (const char c : text)
        if (const bool blank = c == '\n' || c == '\t' || c == ' '; !blank)
            out += c;
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    return out;
}

std::string counted(size_t count, const std::string& what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::optional<uint64_t> read_number(const std::string& text) {
    uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; (at = text.find_first_not_of(" \t\n", at)) != std::string::npos;) {
        const size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

} // namespace sonde::repl
