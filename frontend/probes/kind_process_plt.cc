// Resolves process("P").plt, .plt("f") and .plt("f").return: calls of functions in other modules, at the entries of the
// procedure linkage table (PLT).
// A call of another module's function goes through a small piece of code in the caller's file:
//
//     main:      call puts@plt
//     puts@plt:  jmp  *GOT[puts]      <- probed; the address in the GOT leads to libc
//
// So `process("P").plt("puts")` sees only the calls that P makes, and needs no debug information. A probe of puts in
// libc sees the calls of all modules, and also those through a function pointer, which do not use P's table.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/dwarf/call_returns.h"
#include "frontend/dwarf/return_sites.h"
#include "frontend/probes/kind_process.h"
#include "frontend/probes/returns_twice.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// Returns the entry's address, or for `.return` the addresses after the calls of the entry.
Result<std::vector<ResolvedPoint>> entry_points(const ProcessTarget& target, const PltEntry& entry, bool is_return,
                                                bool changes_address) {
    if (is_return && returns_twice(entry.name))
        return Error(why_no_return_twice(entry.name));
    std::vector<Address> places = {entry.address};
    // Without changing the stack, the return is probed after each call; see dwarf/call_returns.h.
    if (is_return && !changes_address) {
        Result<std::vector<Address>> behind = target.module->call_returns().find(entry);
        if (!behind)
            return std::move(behind).error();
        places = *std::move(behind);
    }
    std::vector<ResolvedPoint> points;
    const std::optional<uint64_t> offset = target.module->file().file_offset(entry.address);
    for (Address place : places) {
        std::optional<ResolvedPoint> point = point_at(target, place);
        if (!point || !offset)
            continue;
        point->variables = &plt_source;
        point->plt = &entry;
        point->entry_address = entry.address;
        point->point.function = entry.name;
        point->point.pp = fmt::format("{}.plt({}){}", target.text, quoted(entry.name), is_return ? ".return" : "");
        if (is_return) {
            point->kind = plan::ProbeKind::Uretprobe;
            point->is_return = true;
            point->after_call = !changes_address;
            point->point.entry_offset = *offset;
        }
        points.push_back(*std::move(point));
    }
    return points;
}

// Reports that nothing matches, and suggests similar names of functions that the programs call.
void explain_no_entry(Resolving& resolving, const ast::PointComponent& component, const std::string& pattern,
                      const std::vector<ProcessTarget>& targets, const std::vector<std::string>& names) {
    std::string where = targets.size() == 1 ? fmt::format("`{}`", targets[0].module->path())
                                            : fmt::format("{} programs", targets.size());
    DiagBuilder report = resolving.diags.report(
        DiagId::NoMatch, component.arg == ast::PointComponent::None ? component.range : component.arg_range,
        names.empty() ? fmt::format("{} has no calls through a linkage table", where)
                      : fmt::format("{} does not call `{}`", where, pattern));
    if (names.empty())
        report.help("programs that are linked statically or with -fno-plt have no linkage table");
    else
        report.suggest(nearest_name(pattern, names));
}

} // namespace

// Resolves .plt in all targets. Entries that cannot be probed at the return are collected, and reported in one message.
std::vector<ResolvedPoint> resolve_plt(Resolving& resolving, size_t next) {
    using ast::PointComponent;
    const PointComponent &component = *resolving.at(next), *suffix = resolving.at(next + 1);
    if (component.arg == PointComponent::Number) {
        expect_argument(resolving, component, PointComponent::String);
        return {};
    }
    std::string pattern = component.arg == PointComponent::String ? component.text : "*";
    if (suffix && suffix->name != "return") {
        report_component(resolving, next + 1, {"return"}, {"statement"});
        return {};
    }
    if (suffix && (!expect_argument(resolving, *suffix, PointComponent::None) || !expect_end(resolving, next + 2)))
        return {};

    std::vector<ResolvedPoint> points;
    std::vector<std::string> names;
    std::vector<std::pair<std::string, Error>> left_out;
    std::vector<ProcessTarget> targets = open_process_targets(resolving, next);
    for (const ProcessTarget& target : targets)
        for (const PltEntry& entry : target.module->file().plt()) {
            names.push_back(entry.name);
            if (!glob_match(pattern, entry.name))
                continue;
            Result<std::vector<ResolvedPoint>> found =
                entry_points(target, entry, suffix != nullptr, target.changes_return_addresses);
            if (found)
                std::ranges::move(*found, std::back_inserter(points));
            else
                left_out.emplace_back(entry.name, std::move(found).error());
        }
    if (!left_out.empty()) {
        // The message explains the first one. If it is unsafe, the message has advice for all that are.
        std::ranges::stable_partition(left_out, [](const auto& one) { return one.second.os_error == unsafe_return; });
        ProcessPattern what;
        what.component = &component;
        explain_no_return(resolving, what, left_out, points.size());
        return points;
    }
    if (!points.empty() || targets.empty())
        return points;
    explain_no_entry(resolving, component, pattern, targets, names);
    return {};
}

} // namespace sonde
