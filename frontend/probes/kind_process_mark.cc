// Resolves process("P").mark("name") and process("P").provider("p").mark("name"): static markers (USDT), which programs
// define by the macros in <sys/sdt.h>.
// The macro leaves one `nop` in the code, and a note in the section .note.stapsdt that describes the `nop`:
//
//     DTRACE_PROBE1(shop, sold, price);   // provider "shop", name "sold", address of the nop, arguments "4@%eax"
//
// The note says where the arguments are, so a marker survives optimization. A program can have many markers with one
// name, for example after inlining. Each becomes one point.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/kind_process.h"
#include "frontend/variables/sources.h"

namespace sonde {
namespace {

// In C, a `-` in a marker's name is written `__`.
bool name_matches(const std::string& pattern, const std::string& name) {
    if (glob_match(pattern, name))
        return true;
    std::string dashed;
    for (size_t i = 0; i < name.size(); i++)
        if (name.compare(i, 2, "__") == 0)
            dashed += '-', i++;
        else
            dashed += name[i];
    return glob_match(pattern, dashed);
}

} // namespace

// Resolves .mark and .provider.mark in all targets. A marker is a nop with a note, so it needs no debug information.
// But if the program has some, the handler can also use the function's name.
std::vector<ResolvedPoint> resolve_marks(Resolving& resolving, size_t next) {
    using ast::PointComponent;
    size_t at = next;
    std::string provider = "*";
    if (resolving.at(at)->name == "provider") {
        if (!expect_argument(resolving, *resolving.at(at), PointComponent::String))
            return {};
        provider = resolving.at(at)->text;
        at++;
        if (!resolving.at(at) || resolving.at(at)->name != "mark") {
            report_component(resolving, at, {"mark"});
            return {};
        }
    }
    const PointComponent& component = *resolving.at(at);
    if (!expect_argument(resolving, component, PointComponent::String) || !expect_end(resolving, at + 1))
        return {};
    std::vector<ResolvedPoint> points;
    std::vector<std::string> names;
    std::set<std::string> listed;
    std::vector<ProcessTarget> targets = open_process_targets(resolving, next);
    std::vector<ProcessTarget> without;
    for (const ProcessTarget& target : targets) {
        DwarfModule* module = target.module;
        const size_t before = points.size();
        for (const UsdtMark& mark : module->file().marks()) {
            names.push_back(mark.name);
            if (!glob_match(provider, mark.provider) || !name_matches(component.text, mark.name))
                continue;
            std::optional<ResolvedPoint> found = point_at(target, mark.address);
            if (!found)
                continue;
            ResolvedPoint& resolved = *found;
            resolved.variables = &mark_source;
            resolved.mark = &mark;
            if (std::optional<Statement> around = module->statement_at(mark.address)) {
                resolved.function = around->function;
                resolved.point.function = around->function.name;
            }
            // While this counter is above 0, the program computes the marker's arguments. The kernel increments it when
            // the probe is attached.
            resolved.point.ref_ctr_offset = mark.semaphore_offset.value_or(0);
            // Print the point as the user wrote it: without a provider, markers with equal names are one point.
            const std::string of = next == at ? "" : fmt::format(".provider({})", quoted(mark.provider));
            resolved.point.pp = fmt::format("{}{}.mark({})", target.text, of, quoted(mark.name));
            if (!resolving.env.listing || listed.insert(resolved.point.pp).second)
                points.push_back(std::move(resolved));
        }
        if (points.size() == before)
            without.push_back(target);
    }
    if (!points.empty())
        warn_of_targets_without(resolving, component, without);
    if (points.empty() && !targets.empty()) {
        std::string where = targets.size() == 1 ? fmt::format("`{}`", targets[0].module->path())
                                                : fmt::format("{} programs", targets.size());
        DiagBuilder report = resolving.diags.report(
            DiagId::NoMatch, component.arg_range,
            names.empty() ? fmt::format("{} {} no marks", where, targets.size() == 1 ? "has" : "have")
                          : fmt::format("no mark `{}`{} in {}", component.text,
                                        provider == "*" ? "" : fmt::format(" of a provider `{}`", provider), where));
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        if (std::string nearest = nearest_name(component.text, names); !nearest.empty())
            report.suggest(nearest);
        else if (!names.empty())
            report.help(fmt::format(
                "its marks: {}",
                fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(std::min<size_t>(names.size(), 20)),
                          " ")));
        for (const ProcessTarget& target : targets)
            if (target.module->file().elf().find_section(".probes") && target.module->file().marks().empty()) {
                report.help(fmt::format("`{}` has a section `.probes`, which may have marks in the format of SystemTap "
                                        "before 2011. sonde reads only that of later versions: compile the program "
                                        "again with a <sys/sdt.h> of today",
                                        target.module->path()));
                break;
            }
        if (targets.size() == 1)
            note_script(report, resolving, targets[0].module->path());
    }
    return points;
}

} // namespace sonde
