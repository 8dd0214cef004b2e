// Each listing runs pass 1 and parts of pass 2, and writes to standard output. Nothing is translated or loaded.
#include "driver/listing.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "driver/confine.h"
#include "driver/discovery.h"
#include "driver/foreign.h"
#include "driver/pass.h"
#include "driver/progress.h"
#include "frontend/probes/probe.h"
#include "frontend/probes/why.h"
#include "frontend/sema/sema.h"
#include "frontend/tapset/inventory.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Prints the lines. They contain names from programs, which can have control characters: replace these on a terminal.
void print_lines(const std::vector<std::string>& lines, bool raw) {
    const bool for_terminal = !raw && isatty(STDOUT_FILENO) == 1;
    for (const std::string& line : lines)
        fmt::print("{}\n", for_terminal ? terminal_text(line) : line);
}

// Returns the points of the argument of -l or -L. As in SystemTap, the argument may be any text between `probe` and a
// last `{}`, as in `my.alias = begin { x = 1 } probe my.alias`. Its aliases are added to the script's.
std::vector<ast::ProbePoint*> read_points(Translation& t, const std::string& text) {
    const auto declarations = [&]() -> const ast::File* {
        const Diagnostics::Suppress quiet(t.diags);
        const FileId file = t.sources.add("<input>", "probe " + text + " {}");
        const ast::File* parsed = parse_file(file, t.sources, t.parse_options, t.arena, t.diags);
        return quiet.errors() == 0 && parsed->probes.size() + parsed->aliases.size() > 1 ? parsed : nullptr;
    };
    if (const ast::File* file = declarations()) {
        std::vector<ast::ProbePoint*> points;
        for (const ast::Probe* probe : file->probes)
            points.insert(points.end(), probe->points.begin(), probe->points.end());
        t.files.push_back(file);
        return points;
    }
    const FileId file = t.sources.add("<input>", text);
    return parse_probe_points(file, t.sources, t.parse_options, t.arena, t.diags);
}

// -l, -L
int list_points(Translation& t, const Options& options, const Policies& policies) {
    const std::vector<ast::ProbePoint*> points = read_points(t, options.driver.list_point);
    t.diags.say_held();
    if (t.diags.has_errors() && explain_foreign_points(t, options))
        return exit_failure;
    if (t.diags.has_errors())
        return t.report(), exit_failure;
    std::optional<Progress> progress(std::in_place, "finding probe points and their debug information");
    std::vector<std::string> lines =
        sonde::list_points(points, options.driver.list_variables, t.files, *t.library, t.env, t.arena, t.diags);
    progress.reset();
    t.report();
    if (const size_t hidden = std::erase_if(lines, [&](const auto& line) { return !is_listed(line, policies); }))
        warn(fmt::format("{} points are hidden by the policy", hidden));
    print_lines(lines, options.session.raw);
    return lines.empty() ? exit_failure : 0;
}

// --why
int explain_why(Translation& t, const Options& options, const Policies& policies) {
    FileId variable_file = t.sources.add("<variable>", options.driver.why);
    FileId point_file = t.sources.add("<point>", options.translate.positional[0]);
    const ast::TargetExpr* variable = parse_target(variable_file, t.sources, t.parse_options, t.arena, t.diags);
    std::vector<ast::ProbePoint*> points = parse_probe_points(point_file, t.sources, t.parse_options, t.arena, t.diags);
    std::vector<std::string> lines;
    if (variable && !policies.empty())
        for (const Refusal& refusal : find_refused_headers(*variable))
            return say_error(refusal.message), exit_failure;
    if (!t.diags.has_errors()) {
        const std::vector<ResolvedPoint> resolved = resolve_listing(points, *t.library, t.env, t.arena, t.diags);
        for (const ResolvedPoint& one : resolved)
            if (const std::string why = why_refused(one.kind, one.point, policies); !why.empty())
                return say_error(why), exit_failure;
        lines = explain_variable(*variable, resolved, t.arena, t.env, t.diags);
    }
    if (!t.report())
        return exit_failure;
    print_lines(lines, options.session.raw);
    return lines.empty() ? exit_failure : 0;
}

// --dump-functions, --dump-probe-aliases, --dump-probe-types
int print_inventory(Translation& t, const Options& options) {
    const Inventory inventory = options.driver.inventory;
    const bool all = options.driver.verbose[0] > 0;
    std::vector<std::string> lines = inventory == Inventory::Functions ? describe_functions(*t.library, all)
                                     : inventory == Inventory::Aliases ? describe_aliases(*t.library)
                                                                       : probe_point_forms();
    for (const std::string& line : lines)
        fmt::print("{}\n", line);
    return t.report() ? 0 : exit_failure;
}

} // namespace

bool is_listing(const Options& options) {
    return options.driver.list || options.driver.inventory != Inventory::None || !options.driver.why.empty();
}

int list(Translation& t, const Options& options, const Policies& policies) {
    t.diags.say_held();
    if (options.driver.list && options.driver.list_point.starts_with('-'))
        return say_error(fmt::format(
                   "{0}: `{1}` is not a probe point; write a point after {0}, as in sonde {0} 'syscall.open*'",
                   options.driver.list_variables ? "-L" : "-l", options.driver.list_point)),
               exit_failure;
    if (!options.session.output.path.empty())
        warn("-o has no effect on a listing, which goes to standard output");
    if (options.session.output.format != OutputFormat::Text)
        warn("--format has no effect on a listing, which is text");
    if (options.driver.list && is_discovery(t, options)) {
        if (limits_points(policies))
            return say_error("a search for a word is not possible, because the policy limits probe points; give a "
                             "pattern, as in `process(\"/srv/shop\").function(\"*order*\")`"),
                   exit_failure;
        return discover(t, options);
    }
    if (options.driver.list)
        return list_points(t, options, policies);
    return options.driver.inventory != Inventory::None ? print_inventory(t, options)
                                                       : explain_why(t, options, policies);
}

} // namespace sonde
