// process("P").function("...") and .statement("..."): places in programs and libraries.
//
// A target (path, glob, process id, the command) gives modules, a pattern gives functions or statements in them. What
// matched nothing is explained in kind_process_explain.cc.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/probes/kind_process.h"

namespace sonde {
namespace {

using ast::PointComponent;

// "f@file:3"
std::string place_text(const std::string& name, const std::string& file, int line) {
    return file.empty() ? name : fmt::format("{}@{}:{}", name, file, line);
}

std::optional<ResolvedPoint> point_in(const ProcessTarget& target, const FunctionInstance& function, Address address) {
    std::optional<ResolvedPoint> resolved = point_at(target, address);
    if (resolved) {
        resolved->point.function = function.name;
        resolved->function = function;
    }
    return resolved;
}

std::optional<ResolvedPoint> function_point(const ProcessTarget& target, const FunctionInstance& function,
                                            const ProcessPattern& pattern) {
    bool is_return = pattern.suffix == "return";
    std::optional<ResolvedPoint> resolved = point_in(target, function, is_return ? function.entry : function.body);
    if (!resolved)
        return std::nullopt;
    resolved->is_function = true;
    if (is_return) {
        std::optional<uint64_t> entry = target.module->file_offset(function.body);
        if (!entry)
            return std::nullopt;
        resolved->kind = plan::ProbeKind::Uretprobe;
        resolved->is_return = true;
        resolved->entry_address = function.body;
        resolved->point.entry_offset = *entry;
    }
    resolved->point.pp =
        fmt::format("{}.function({}){}{}", target.text, quoted(place_text(function.name, function.file, function.line)),
                    pattern.suffix.empty() ? "" : ".", pattern.suffix);
    return resolved;
}

std::vector<ResolvedPoint> functions_in(Resolving& resolving, const ProcessTarget& target,
                                        const ProcessPattern& pattern) {
    DwarfModule& module = *target.module;
    std::vector<FunctionInstance> found;
    if (pattern.component->arg == PointComponent::Number) {
        if (std::optional<Statement> at = module.statement_at(static_cast<Address>(pattern.component->number)))
            found.push_back(at->function);
    } else {
        found = module.functions(pattern.parsed);
    }
    // Wildcards mean the program's own functions, not the start-up code that only the symbol table knows.
    if (has_wildcard(pattern.parsed.function) &&
        std::any_of(found.begin(), found.end(), [](const auto& one) { return one.has_debug_info; }))
        std::erase_if(found, [](const auto& one) { return !one.has_debug_info; });
    bool any = !found.empty();
    std::erase_if(found, [&](const FunctionInstance& one) {
        if (pattern.suffix == "exported" && !one.external)
            return true;
        if (pattern.suffix == "inline")
            return !one.inlined;
        return one.inlined && !pattern.suffix.empty();
    });
    std::vector<ResolvedPoint> points;
    std::set<std::pair<Address, std::string>> seen; // one symbol may stand for several declarations
    for (const FunctionInstance& one : found)
        if (std::optional<ResolvedPoint> point = function_point(target, one, pattern))
            if (seen.insert({point->address, one.name}).second)
                points.push_back(*std::move(point));
    if (points.empty())
        explain_no_function(resolving, module, pattern, any);
    return points;
}

std::vector<ResolvedPoint> statements_in(Resolving& resolving, const ProcessTarget& target,
                                         const ProcessPattern& pattern) {
    DwarfModule& module = *target.module;
    std::vector<Statement> found;
    bool by_number = pattern.component->arg == PointComponent::Number;
    if (by_number) {
        if (std::optional<Statement> at = module.statement_at(static_cast<Address>(pattern.component->number)))
            found.push_back(*at);
    } else {
        found = module.statements(pattern.parsed);
    }
    std::vector<ResolvedPoint> points;
    for (const Statement& one : found) {
        std::optional<ResolvedPoint> point = point_in(target, one.function, one.address);
        if (!point)
            continue;
        if (by_number) {
            point->point.pp = fmt::format("{}.statement({:#x}){}", target.text, one.address,
                                          pattern.suffix == "absolute" ? ".absolute" : "");
            if (pattern.suffix == "absolute")
                point->module = nullptr; // an address is all that is known, so no `$variables`
        } else {
            point->point.pp =
                fmt::format("{}.statement({})", target.text, quoted(place_text(one.function.name, one.file, one.line)));
        }
        points.push_back(*std::move(point));
    }
    if (points.empty())
        explain_no_statement(resolving, module, pattern);
    return points;
}

// Reads the components behind `process`; nullopt after a report.
std::optional<ProcessPattern> read_pattern(Resolving& resolving, size_t next) {
    ProcessPattern pattern;
    pattern.component = resolving.at(next);
    if (!pattern.component || (pattern.component->name != "function" && pattern.component->name != "statement")) {
        std::vector<std::string> allowed = {"function", "statement", "mark", "provider"};
        if (next == 1)
            allowed.insert(allowed.end(), {"begin", "end", "thread", "syscall"});
        report_component(resolving, next, allowed, {"insn", "plt", "library", "error"});
        return std::nullopt;
    }
    pattern.is_statement = pattern.component->name == "statement";
    bool number = pattern.component->arg == PointComponent::Number;
    if (!number) {
        if (!expect_argument(resolving, *pattern.component, PointComponent::String))
            return std::nullopt;
        Result<FunctionPattern> parsed = FunctionPattern::parse(pattern.component->text);
        if (!parsed) {
            resolving.diags.report(DiagId::NoMatch, pattern.component->arg_range, parsed.error().message);
            return std::nullopt;
        }
        pattern.parsed = *std::move(parsed);
    }
    const PointComponent* suffix = resolving.at(next + 1);
    if (!suffix)
        return pattern;
    std::vector<std::string> allowed = {"call", "return", "inline", "exported"};
    if (pattern.is_statement)
        allowed = {number ? "absolute" : "nearest"};
    if (std::find(allowed.begin(), allowed.end(), suffix->name) == allowed.end()) {
        report_component(resolving, next + 1, allowed, {"label", "callee", "callees"});
        return std::nullopt;
    }
    if (!expect_argument(resolving, *suffix, PointComponent::None))
        return std::nullopt;
    pattern.suffix = suffix->name;
    if (resolving.at(next + 2)) {
        if (suffix->name == "return")
            report_component(resolving, next + 2, {}, {"maxactive"});
        else
            report_component(resolving, next + 2, {});
        return std::nullopt;
    }
    if (pattern.suffix == "nearest" && pattern.parsed.line_kind == FunctionPattern::Absolute)
        pattern.parsed.line_kind = FunctionPattern::Nearest;
    return pattern;
}

} // namespace

std::vector<ResolvedPoint> resolve_process(Resolving& resolving) {
    size_t next = 1;
    const std::string what = resolving.at(next) ? resolving.at(next)->name : "";
    if (what == "begin" || what == "end" || what == "thread" || what == "syscall")
        return resolve_task_events(resolving);
    if (what == "mark" || what == "provider")
        return resolve_marks(resolving, next);
    std::optional<ProcessPattern> pattern = read_pattern(resolving, next);
    if (!pattern)
        return {};
    std::vector<ProcessTarget> targets = open_process_targets(resolving, next);
    auto resolve_in = [&](const ProcessTarget& target) {
        return pattern->is_statement ? statements_in(resolving, target, *pattern)
                                     : functions_in(resolving, target, *pattern);
    };
    if (targets.size() == 1)
        return resolve_in(targets[0]);
    // Of several programs only some need to have the function.
    std::vector<ResolvedPoint> points;
    for (const ProcessTarget& target : targets) {
        Diagnostics::Suppress quiet(resolving.diags);
        std::vector<ResolvedPoint> some = resolve_in(target);
        points.insert(points.end(), some.begin(), some.end());
    }
    if (points.empty() && !targets.empty())
        resolving.diags.report(DiagId::NoMatch, pattern->component->arg_range,
                               fmt::format("nothing matches `{}` in the {} programs that match {}",
                                           point_text(resolving.point), targets.size(),
                                           quoted(resolving.components()[next - 1].text)));
    return points;
}

} // namespace sonde
