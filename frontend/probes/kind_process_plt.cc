// process("P").plt, .plt("f") and .plt("f").return: calls of other modules' functions, at the entries of the linkage
// table.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/kind_process.h"
#include "frontend/probes/returns_twice.h"
#include "frontend/variables/sources.h"

namespace sonde {
namespace {

Error unsafe_import(const std::string& name) {
    return Error(fmt::format("an exception may pass through a call of `{}`, and would end the program where it meets a "
                             "changed return address",
                             name),
                 unsafe_return);
}

// Nothing matches: reports it, with the nearest of the names that the programs call.
void explain_no_entry(Resolving& resolving, const ast::PointComponent& component, const std::string& pattern,
                      const std::vector<ProcessTarget>& targets, const std::vector<std::string>& names) {
    std::string where = targets.size() == 1 ? fmt::format("`{}`", targets[0].module->path())
                                            : fmt::format("{} programs", targets.size());
    DiagBuilder report = resolving.diags.report(
        DiagId::NoMatch, component.arg == ast::PointComponent::None ? component.range : component.arg_range,
        names.empty() ? fmt::format("{} calls nothing through a linkage table", where)
                      : fmt::format("{} does not call `{}`", where, pattern));
    if (names.empty())
        report.help("what is linked statically or with -fno-plt has none");
    else
        report.suggest(nearest_name(pattern, names));
}

} // namespace

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
    std::string twice; // one whose return cannot be probed
    std::vector<std::pair<std::string, Error>> left_out;
    std::vector<ProcessTarget> targets = open_process_targets(resolving, next);
    for (const ProcessTarget& target : targets)
        for (const PltEntry& entry : target.module->file().plt()) {
            names.push_back(entry.name);
            std::optional<ResolvedPoint> point = point_at(target, entry.address);
            if (!point || !glob_match(pattern, entry.name))
                continue;
            if (suffix && returns_twice(entry.name)) {
                twice = entry.name;
                continue;
            }
            bool asked_for = target.changes_return_addresses && !has_wildcard(pattern);
            if (suffix && !asked_for && target.module->returns().import_may_unwind(entry.name)) {
                left_out.emplace_back(entry.name, unsafe_import(entry.name));
                continue;
            }
            point->variables = &plt_source;
            point->plt = &entry;
            point->point.function = entry.name;
            point->point.pp = fmt::format("{}.plt({}){}", target.text, quoted(entry.name), suffix ? ".return" : "");
            if (suffix) {
                point->kind = plan::ProbeKind::Uretprobe;
                point->is_return = true;
                point->point.entry_offset = point->point.offset;
            }
            points.push_back(*std::move(point));
        }
    if (!left_out.empty()) {
        ProcessPattern what;
        what.component = &component;
        explain_no_return(resolving, what, left_out, points.size());
        return points;
    }
    if (!points.empty() || targets.empty())
        return points;
    if (!twice.empty()) {
        resolving.diags.report(DiagId::Unsupported, component.range, why_no_return_twice(twice));
        return points;
    }
    explain_no_entry(resolving, component, pattern, targets, names);
    return {};
}

} // namespace sonde
