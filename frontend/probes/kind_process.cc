// Resolves process("P").function("...") and .statement("..."): places in programs and libraries.
//
// A target (a path, a pattern, a process id, or the command of -c) gives modules. A pattern then selects functions or
// statements in each module. If nothing matches, kind_process_explain.cc finds out why.
//
// One function can become several points: an inlined function has a place in each copy, and a return has a place at
// each return instruction. Several functions can become one point if they share their code (shared_code.h). A function
// that cannot be probed exactly is skipped with a message. It is never probed inexactly without one, because the counts
// would be wrong and look right.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/shared_libraries.h"
#include "base/suggest.h"
#include "frontend/dwarf/return_sites.h"
#include "frontend/probes/kind_process.h"
#include "frontend/probes/shared_code.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

constexpr int64_t most_calls = 20; // a greater depth is reduced to this

// Resolves a label or a callee in the given functions.
std::vector<ResolvedPoint> places_in(Resolving& resolving, const ProcessTarget& target, const ProcessPattern& pattern,
                                     const std::vector<FunctionInstance>& functions) {
    const auto [points, names, left_out] = places_inside(target, pattern, functions);
    if (!left_out.empty())
        explain_no_return(resolving, pattern, left_out, points.size());
    if (!points.empty() || !left_out.empty())
        return points;
    bool label = pattern.inside->name == "label";
    const std::string& where = pattern.component->text;
    DiagBuilder report = resolving.diags.report(
        DiagId::NoMatch,
        pattern.inside->arg == PointComponent::String ? pattern.inside->arg_range : pattern.inside->range,
        label ? fmt::format("no label `{}` in `{}`", pattern.name, where)
              : fmt::format("`{}` calls no `{}`{}", where, pattern.name,
                            pattern.suffix.empty() ? "" : fmt::format(" that has a `.{}`", pattern.suffix)));
    if (std::string nearest = nearest_name(pattern.name, names); !nearest.empty())
        report.suggest(nearest);
    else if (!label)
        report.help(
            "only calls inside of the same program or library are known; use `.plt` for calls of other libraries");
    else if (!target.module->has_debug_info())
        report.help("labels need debug information; compile the program with -g");
    return {};
}

// Returns whether the suffix includes the function: `.inline` only inlined copies, `.exported` only functions that
// other modules can call, `.call` only functions that are not inlined. Without a suffix, all are included.
bool has_suffix(const ProcessPattern& pattern, const FunctionInstance& one) {
    if (pattern.suffix == "exported" && !one.external)
        return false;
    if (pattern.suffix == "inline")
        return one.inlined;
    return !one.inlined || pattern.suffix.empty();
}

// If the user asked for changed return addresses, a pattern does not apply that to functions that exceptions can
// unwind.
ProcessTarget with_care(const ProcessTarget& target, const FunctionInstance& function, bool by_pattern) {
    ProcessTarget out = target;
    out.changes_return_addresses =
        target.changes_return_addresses && !(by_pattern && target.module->returns().may_unwind(function));
    return out;
}

// Lists functions. A large program can have a hundred times as many inlined copies as lines in the listing. So this
// visits one part of the program after the other, and keeps only the lines.
std::vector<ResolvedPoint> listed_functions(const ProcessTarget& target, const ProcessPattern& pattern,
                                            const ProbeEnvironment& env) {
    std::set<std::string> lines;
    ProcessTarget careful = target;
    careful.only_lists = !env.listing_addresses;
    target.module->visit_functions(pattern.parsed, [&](const FunctionInstance& one) {
        if (!has_suffix(pattern, one))
            return;
        // If there are several functions, some may never return; that is not an error.
        if (Result<std::vector<ResolvedPoint>> places =
                function_points(with_care(careful, one, true), one, function_text(target, one), pattern.suffix))
            for (const ResolvedPoint& point : *places) {
                lines.insert(list_point(point, env));
                if (env.on_point)
                    env.on_point(point);
            }
    });
    std::vector<ResolvedPoint> points;
    while (!lines.empty())
        points.emplace_back().listed = std::move(lines.extract(lines.begin()).value());
    return points;
}

// Returns the function of a stripped program that contains the address, with the address as its name. Returns nullopt
// after reporting an error.
std::optional<FunctionInstance> unnamed_function(Resolving& resolving, DwarfModule& module,
                                                 const ProcessPattern& pattern) {
    auto address = static_cast<Address>(pattern.component->number);
    InstructionPlace place = module.instruction_at(address);
    if (!place.why.empty() || !place.function || !module.instruction_at(*place.function).why.empty()) {
        explain_address(resolving, module, pattern, address, place);
        return std::nullopt;
    }
    FunctionInstance function;
    function.name = fmt::format("{:#x}", *place.function);
    function.entry = function.body = function.low = function.high = *place.function;
    function.has_debug_info = false;
    return function;
}

// Warns of a line after the file's name: it does not select a function, but the user may expect that.
void warn_of_lines(Resolving& resolving, const ProcessPattern& pattern, const std::vector<FunctionInstance>& found) {
    if (pattern.lines.empty() || found.empty() || resolving.env.listing)
        return;
    const FunctionPattern& first = pattern.lines[0];
    if (pattern.lines.size() == 1 && first.line_kind == FunctionPattern::Absolute &&
        std::any_of(found.begin(), found.end(), [&](const FunctionInstance& one) { return one.line == first.line; }))
        return;
    resolving.diags
        .report(DiagId::LineOfFunction, pattern.component->arg_range,
                "For probing a particular line, use a .statement() probe, not .function()")
        .help(fmt::format("sonde ignores the line and probes the beginning of `{}`", found[0].name));
}

// Resolves .function(...) in one module: finds the functions, drops those that the suffix excludes, merges functions
// with the same code, and creates the points. Functions that cannot be probed are reported in one message.
std::vector<ResolvedPoint> functions_in(Resolving& resolving, const ProcessTarget& target,
                                        const ProcessPattern& pattern) {
    DwarfModule& module = *target.module;
    const ProbeEnvironment& env = resolving.env;
    bool wildcard = pattern.component->arg == PointComponent::String && has_wildcard(pattern.parsed.function);
    // The listing of a pattern never needs all functions at once.
    if (env.listing && wildcard && !pattern.inside)
        if (std::vector<ResolvedPoint> points = listed_functions(target, pattern, env); !points.empty())
            return points;
    std::vector<FunctionInstance> found;
    const bool by_number = pattern.component->arg == PointComponent::Number;
    if (by_number) {
        if (std::optional<Statement> at = module.statement_at(static_cast<Address>(pattern.component->number)))
            found.push_back(at->function);
        else if (std::optional<FunctionInstance> unnamed = unnamed_function(resolving, module, pattern))
            found.push_back(*std::move(unnamed));
        else
            return {};
    } else {
        found = module.functions(pattern.parsed);
    }
    if (pattern.inside && !found.empty())
        return places_in(resolving, target, pattern, found);
    warn_of_lines(resolving, pattern, found);
    bool any = !found.empty();
    std::erase_if(found, [&](const FunctionInstance& one) { return !has_suffix(pattern, one); });
    if (!by_number)
        keep_one_of_each_code(resolving, module, pattern, found);
    std::vector<ResolvedPoint> points;
    std::set<std::pair<Address, std::string_view>> seen; // one symbol may have several declarations
    std::set<std::string> listed;
    ProcessTarget careful = target;
    careful.only_lists = env.listing && !env.listing_addresses;
    auto add = [&](const FunctionInstance& one) -> Result<void> {
        const std::string text =
            by_number ? fmt::format("{}.function({:#x})", target.text, one.entry) : function_text(target, one);
        Result<std::vector<ResolvedPoint>> places =
            function_points(with_care(careful, one, wildcard), one, text, pattern.suffix);
        if (!places)
            return std::move(places).error();
        for (ResolvedPoint& point : *places)
            if (env.listing ? listed.insert(list_point(point, env)).second
                            : seen.insert({point.address, one.name}).second)
                points.push_back(std::move(point));
        return {};
    };
    std::vector<std::pair<std::string, Error>> left_out; // by the functions' names
    std::vector<std::pair<std::string, std::string>> doubts;
    for (const FunctionInstance& one : found) {
        const size_t before = points.size();
        Result<void> added = add(one);
        if (points.size() > before && !points.back().doubt.empty())
            doubts.emplace_back(one.name, points.back().doubt);
        // If there are several functions, some may never return. Functions that the compiler adds to the program are
        // not worth a warning.
        const bool is_own = one.has_debug_info || !module.has_debug_info() || !wildcard;
        const bool is_told =
            !added && (added.error().os_error == unsafe_return || added.error().os_error == unclear_entry);
        if (!added && (found.size() == 1 || (is_told && is_own)))
            left_out.emplace_back(one.name, std::move(added).error());
    }
    if (!doubts.empty() && !env.listing)
        warn_of_missed_calls(resolving, pattern, doubts);
    if (!left_out.empty()) {
        explain_no_return(resolving, pattern, left_out, points.size());
        if (points.empty())
            return {};
    }
    if (points.empty())
        explain_no_function(resolving, module, pattern, any);
    return points;
}

// Returns the statement at an address. Returns nullopt after reporting that none begins there; without line
// information, that no instruction begins there.
std::optional<Statement> statement_at(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern) {
    auto address = static_cast<Address>(pattern.component->number);
    InstructionPlace place = module.instruction_at(address);
    std::optional<Address> start = pattern.suffix == "absolute" ? std::nullopt : module.statement_start(address);
    if ((place.why.empty() || place.inside) && start && *start != address) {
        explain_statement(resolving, pattern, *start);
        return std::nullopt;
    }
    if (!place.why.empty()) {
        explain_address(resolving, module, pattern, address, place);
        return std::nullopt;
    }
    if (std::optional<Statement> known = module.statement_at(address))
        return known;
    // A function in a stripped program has no name.
    Statement statement;
    statement.address = address;
    statement.function.entry = statement.function.body = statement.function.low = place.function.value_or(address);
    statement.function.has_debug_info = false;
    return statement;
}

// Resolves process(PID).statement(ADDRESS).absolute: an address in the memory of that process.
std::vector<ResolvedPoint> mapped_statement(Resolving& resolving, const ProcessTarget& target,
                                            const ProcessPattern& pattern) {
    auto address = static_cast<uint64_t>(pattern.component->number);
    std::optional<MappedAt> place = mapped_at(target.pid, address);
    if (!place) {
        resolving.diags
            .report(DiagId::NoMatch, pattern.component->arg_range,
                    fmt::format("process {} has no code from a file at {:#x}", target.pid, address))
            .help(fmt::format("/proc/{}/maps lists its code", target.pid));
        return {};
    }
    Result<DwarfModule*> module = resolving.env.module(place->path);
    std::optional<Address> linked = module ? (*module)->file().address_of_offset(place->offset) : std::nullopt;
    if (!linked) {
        resolving.diags.report(DiagId::NoInstruction, pattern.component->arg_range,
                               fmt::format("sonde knows no instruction of `{}` that begins at {:#x} of process {}{}",
                                           place->path, address, target.pid,
                                           module ? "" : fmt::format(": {}", module.error().message)));
        return {};
    }
    if (InstructionPlace at = (*module)->instruction_at(*linked); !at.why.empty()) {
        // The message shows addresses of the process, not of the file.
        if (at.before)
            at.before = *at.before - *linked + address;
        if (at.function)
            at.function = *at.function - *linked + address;
        explain_address(resolving, **module, pattern, *linked, at);
        return {};
    }
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Uprobe;
    resolved.in_kernel = true;
    resolved.point.pp = fmt::format("process({}).statement({:#x}).absolute", target.pid, address);
    resolved.point.path = place->path;
    resolved.point.offset = place->offset;
    resolved.point.pid = target.pid;
    return {resolved};
}

// Returns the line with code that is nearest to `line`; of two equally near ones, the later. Returns nullopt if none is
// near.
std::optional<int> nearest_line(const std::set<int>& lines, int line) {
    constexpr int most_away = 5;
    auto after = lines.lower_bound(line);
    std::optional<int> best;
    if (after != lines.end())
        best = *after;
    if (after != lines.begin() && (!best || line - *std::prev(after) < *best - line))
        best = *std::prev(after);
    return best && std::abs(*best - line) <= most_away ? best : std::nullopt;
}

// For `.nearest`: returns the nearest lines with code in each function. A line without code has no statement, so this
// collects all statements of the functions, and chooses by distance. If the user gave a single line, pp() keeps its
// number: `f@a.c:10` is still printed as line 10 when the code is at line 12.
std::vector<Statement> nearest_statements(DwarfModule& module, const ProcessPattern& pattern) {
    std::vector<FunctionPattern> wanted = {pattern.parsed};
    wanted.insert(wanted.end(), pattern.more.begin(), pattern.more.end());
    if (wanted[0].line_kind == FunctionPattern::None)
        return module.statements(wanted[0]);
    FunctionPattern every = wanted[0];
    every.line_kind = FunctionPattern::Wildcard;
    struct Lines {
        int declared = 0;
        std::set<int> lines;
        std::vector<Statement> statements;
    };
    std::map<std::pair<std::string, std::string>, Lines> functions; // by name and file
    for (Statement& one : module.statements(every)) {
        Lines& function = functions[{one.function.name, one.file}];
        function.declared = one.function.line;
        function.lines.insert(one.line);
        function.statements.push_back(std::move(one));
    }
    const bool one_line = wanted.size() == 1 && (wanted[0].line_kind == FunctionPattern::Absolute ||
                                                 wanted[0].line_kind == FunctionPattern::Relative);
    std::vector<Statement> out;
    for (const auto& [name, function] : functions) {
        std::map<int, int> found; // lines with code, and the line number to print for them
        auto look = [&](int line) {
            if (std::optional<int> near = nearest_line(function.lines, line))
                found.try_emplace(*near, one_line ? line : *near);
        };
        for (const FunctionPattern& one : wanted)
            if (one.line_kind == FunctionPattern::Wildcard)
                for (int line : function.lines)
                    look(line);
            else if (one.line_kind == FunctionPattern::Relative)
                look(function.declared + one.line);
            else
                for (int line = one.line; line <= std::min(one.line_end, *function.lines.rbegin() + 5); line++)
                    look(line);
        for (const Statement& one : function.statements)
            if (auto line = found.find(one.line); line != found.end())
                out.emplace_back(one).line = line->second;
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Statement& a, const Statement& b) { return a.address < b.address; });
    return out;
}

// Resolves .statement(...) in one module: by an address, by the nearest lines, or by the lines themselves.
std::vector<ResolvedPoint> statements_in(Resolving& resolving, const ProcessTarget& target,
                                         const ProcessPattern& pattern) {
    DwarfModule& module = *target.module;
    std::vector<Statement> found;
    bool by_number = pattern.component->arg == PointComponent::Number;
    if (by_number && target.pid != 0 && pattern.suffix == "absolute")
        return mapped_statement(resolving, target, pattern);
    if (by_number) {
        std::optional<Statement> at = statement_at(resolving, module, pattern);
        if (!at)
            return {};
        found.push_back(*std::move(at));
    } else if (pattern.suffix == "nearest") {
        found = nearest_statements(module, pattern);
    } else {
        found = module.statements(pattern.parsed);
        for (const FunctionPattern& more : pattern.more)
            for (Statement& one : module.statements(more))
                if (std::none_of(found.begin(), found.end(),
                                 [&](const Statement& other) { return other.address == one.address; }))
                    found.push_back(std::move(one));
    }
    const std::string suffix = pattern.suffix.empty() ? "" : "." + pattern.suffix;
    std::vector<ResolvedPoint> points;
    for (const Statement& one : found) {
        std::optional<ResolvedPoint> point = point_in(target, one.function, one.address);
        if (!point)
            continue;
        if (by_number) {
            point->point.pp = fmt::format("{}.statement({:#x}){}", target.text, one.address, suffix);
            if (pattern.suffix == "absolute")
                point->module = nullptr; // only the address is known, so there are no `$variables`
        } else {
            point->point.pp = fmt::format("{}.statement({}){}", target.text,
                                          quoted(place_text(one.function.name, one.file, one.line)), suffix);
        }
        points.push_back(*std::move(point));
    }
    if (points.empty())
        explain_no_statement(resolving, module, pattern);
    return points;
}

// Reads the components after the function or statement at `at`. Returns false after reporting an error.
bool read_suffix(Resolving& resolving, size_t at, ProcessPattern& pattern) {
    const PointComponent* suffix = resolving.at(at);
    if (!suffix)
        return true;
    std::vector<std::string> allowed = {"call", "return", "inline", "exported", "label", "callee", "callees"};
    if (pattern.is_statement)
        allowed = {"nearest"};
    if (pattern.is_statement && pattern.component->arg == PointComponent::Number)
        allowed.emplace_back("absolute");
    if (pattern.inside)
        allowed = {"call", "return"};
    if (std::find(allowed.begin(), allowed.end(), suffix->name) == allowed.end()) {
        report_component(resolving, at, allowed);
        return false;
    }
    if (suffix->name == "label" || suffix->name.starts_with("callee")) {
        pattern.inside = suffix;
        if (suffix->name == "callees" && suffix->arg != PointComponent::None) {
            if (!expect_argument(resolving, *suffix, PointComponent::Number))
                return false;
            if (suffix->number < 1) {
                resolving.diags.report(DiagId::BadNumber, suffix->arg_range, "the depth of calls must be 1 or more");
                return false;
            }
            pattern.depth = static_cast<int>(std::min(suffix->number, most_calls));
        } else if (suffix->name != "callees") {
            if (!expect_argument(resolving, *suffix, PointComponent::String))
                return false;
            pattern.name = suffix->text;
        }
        return suffix->name == "callee" ? read_suffix(resolving, at + 1, pattern) : expect_end(resolving, at + 1);
    }
    if (!expect_argument(resolving, *suffix, PointComponent::None))
        return false;
    pattern.suffix = suffix->name;
    return pattern.suffix == "return" ? read_active(resolving, at + 1, pattern.active) : expect_end(resolving, at + 1);
}

// Reads the components after the program. Returns nullopt after reporting an error.
std::optional<ProcessPattern> read_pattern(Resolving& resolving, size_t next) {
    ProcessPattern pattern;
    pattern.component = resolving.at(next);
    if (!pattern.component || (pattern.component->name != "function" && pattern.component->name != "statement")) {
        std::vector<std::string> allowed = {"function", "statement", "mark", "provider", "plt"};
        if (next == 1)
            allowed.insert(allowed.end(), {"library", "begin", "end", "thread", "syscall", "data"});
        report_component(resolving, next, allowed, {"insn", "error"});
        return std::nullopt;
    }
    pattern.is_statement = pattern.component->name == "statement";
    if (pattern.component->arg != PointComponent::Number) {
        if (!expect_argument(resolving, *pattern.component, PointComponent::String))
            return std::nullopt;
        Result<std::vector<FunctionPattern>> parsed = FunctionPattern::parse_list(pattern.component->text);
        if (!parsed) {
            resolving.diags.report(DiagId::NoMatch, pattern.component->arg_range, parsed.error().message);
            return std::nullopt;
        }
        pattern.parsed = std::move(parsed->front());
        pattern.more.assign(parsed->begin() + 1, parsed->end());
    }
    if (!read_suffix(resolving, next + 1, pattern))
        return std::nullopt;
    if (!pattern.is_statement && pattern.parsed.line_kind != FunctionPattern::None) {
        pattern.lines = {pattern.parsed};
        pattern.lines.insert(pattern.lines.end(), pattern.more.begin(), pattern.more.end());
        pattern.more.clear();
        pattern.parsed.line_kind = FunctionPattern::None;
    }
    return pattern;
}

} // namespace

std::vector<ResolvedPoint> resolve_places(Resolving& resolving, size_t next,
                                          const std::function<std::vector<ProcessTarget>()>& open_targets) {
    std::optional<ProcessPattern> pattern = read_pattern(resolving, next);
    if (!pattern)
        return {};
    std::vector<ProcessTarget> targets = open_targets();
    auto resolve_in = [&](const ProcessTarget& target) {
        std::vector<ResolvedPoint> points = pattern->is_statement ? statements_in(resolving, target, *pattern)
                                                                  : functions_in(resolving, target, *pattern);
        for (ResolvedPoint& point : points)
            if (point.listed.empty())
                point.point.pp += pattern->active;
            else
                point.listed.insert(
                    std::min(point.listed.find(' ', point.listed.rfind(".return")), point.listed.size()),
                    pattern->active);
        return points;
    };
    if (targets.size() == 1)
        return resolve_in(targets[0]);
    // If there are several programs, not all need to have the function.
    std::vector<ResolvedPoint> points;
    std::vector<ProcessTarget> without;
    for (const ProcessTarget& target : targets) {
        Diagnostics::Suppress quiet(resolving.diags);
        std::vector<ResolvedPoint> some = resolve_in(target);
        if (some.empty())
            without.push_back(target);
        std::move(some.begin(), some.end(), std::back_inserter(points));
    }
    if (!points.empty())
        warn_of_targets_without(resolving, *pattern->component, without);
    if (points.empty() && !targets.empty())
        resolving.diags.report(DiagId::NoMatch, pattern->component->arg_range,
                               fmt::format("nothing matches `{}` in the {} programs that match {}",
                                           point_text(resolving.point), targets.size(),
                                           quoted(resolving.components()[next - 1].text)));
    return points;
}

std::vector<ResolvedPoint> resolve_process(Resolving& resolving) {
    bool library = resolving.at(1) && resolving.at(1)->name == "library";
    if (library && !expect_argument(resolving, *resolving.at(1), PointComponent::String))
        return {};
    size_t next = library ? 2 : 1;
    const std::string what = resolving.at(next) ? resolving.at(next)->name : "";
    if (what == "plt")
        return resolve_plt(resolving, next);
    if (library && (what == "begin" || what == "end" || what == "thread" || what == "syscall" || what == "library")) {
        report_component(resolving, next, {"function", "statement", "mark", "provider", "plt"});
        return {};
    }
    if (what == "data" && !library)
        return resolve_process_data(resolving);
    if (what == "begin" || what == "end" || what == "thread" || what == "syscall")
        return resolve_task_events(resolving);
    if (what == "mark" || what == "provider")
        return resolve_marks(resolving, next);
    return resolve_places(resolving, next, [&] { return open_process_targets(resolving, next); });
}

} // namespace sonde
