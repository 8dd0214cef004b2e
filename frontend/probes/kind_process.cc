// process("P").function("...") and .statement("..."): places in programs and libraries.
//
// A target (path, glob, process id, the command) gives modules, a pattern gives functions or statements in them. What
// matched nothing is explained in kind_process_explain.cc.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/probes/kind_process.h"

namespace sonde {
namespace {

using ast::PointComponent;

void report_target(Resolving& resolving, const std::string& message) {
    const PointComponent& target = resolving.components()[0];
    resolving.diags.report(DiagId::BadTarget, target.arg == PointComponent::None ? target.range : target.arg_range,
                           message);
}

// Paths that a name with wildcards stands for; a bare one is looked for in $PATH.
std::vector<std::string> expand_target(const std::string& pattern) {
    if (pattern.find('/') != std::string::npos)
        return expand_path_glob(pattern);
    std::vector<std::string> found;
    const char* search = getenv("PATH");
    std::string_view rest = search ? search : "";
    while (!rest.empty()) {
        size_t colon = std::min(rest.find(':'), rest.size());
        if (colon != 0)
            for (std::string& path : expand_path_glob(std::string(rest.substr(0, colon)) + "/" + pattern))
                found.push_back(std::move(path));
        rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    return found;
}

// "f@file:3"
std::string place_text(const std::string& name, const std::string& file, int line) {
    return file.empty() ? name : fmt::format("{}@{}:{}", name, file, line);
}

// A point at `address`; nullopt where no file has the code (a symbol in a segment that is not executable).
std::optional<ResolvedPoint> make_point(DwarfModule& module, const FunctionInstance& function, Address address) {
    std::optional<uint64_t> offset = module.file_offset(address);
    if (!offset)
        return std::nullopt;
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Uprobe;
    resolved.in_kernel = true;
    resolved.point.function = function.name;
    resolved.point.path = module.path();
    resolved.point.build_id = module.build_id();
    resolved.point.offset = *offset;
    resolved.module = &module;
    resolved.function = function;
    resolved.address = address;
    resolved.entry_address = address;
    return resolved;
}

std::optional<ResolvedPoint> function_point(DwarfModule& module, const FunctionInstance& function, Address address,
                                            const ProcessPattern& pattern) {
    std::optional<ResolvedPoint> resolved = make_point(module, function, address);
    if (!resolved)
        return std::nullopt;
    resolved->is_function = true;
    resolved->is_go = function.is_go && !function.inlined;
    if (pattern.suffix == "return") {
        std::optional<uint64_t> entry = module.file_offset(function.body);
        if (!entry)
            return std::nullopt;
        resolved->kind = plan::ProbeKind::Uretprobe;
        resolved->is_return = true;
        resolved->entry_address = function.body;
        resolved->point.entry_offset = *entry;
    }
    resolved->point.pp = fmt::format("process({}).function({}){}{}", quoted(module.path()),
                                     quoted(place_text(function.name, function.file, function.line)),
                                     pattern.suffix.empty() ? "" : ".", pattern.suffix);
    return resolved;
}

// Where the function's probe sits; for a return from Go, at several places. Empty after a report.
std::vector<Address> addresses_of(Resolving& resolving, DwarfModule& module, const FunctionInstance& function,
                                  const ProcessPattern& pattern) {
    if (pattern.suffix != "return")
        return {function.body};
    if (!function.is_go)
        return {function.entry};
    Result<std::vector<Address>> sites = module.return_sites(function);
    if (sites)
        return *std::move(sites);
    resolving.diags.report(DiagId::NoMatch, pattern.component->arg_range, sites.error().message);
    return {};
}

std::vector<ResolvedPoint> functions_in(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern) {
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
    auto add = [&](const FunctionInstance& one) {
        for (Address address : addresses_of(resolving, module, one, pattern))
            if (std::optional<ResolvedPoint> point = function_point(module, one, address, pattern))
                if (seen.insert({point->address, one.name}).second)
                    points.push_back(*std::move(point));
    };
    if (found.size() == 1) {
        size_t errors = resolving.diags.error_count();
        add(found[0]);
        if (resolving.diags.error_count() > errors)
            return points;
    } else {
        // Of several functions some may never return.
        Diagnostics::Suppress quiet(resolving.diags);
        for (const FunctionInstance& one : found)
            add(one);
    }
    if (points.empty())
        explain_no_function(resolving, module, pattern, any);
    return points;
}

std::vector<ResolvedPoint> statements_in(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern) {
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
        std::optional<ResolvedPoint> point = make_point(module, one.function, one.address);
        if (!point)
            continue;
        if (by_number) {
            point->point.pp = fmt::format("process({}).statement({:#x}){}", quoted(module.path()), one.address,
                                          pattern.suffix == "absolute" ? ".absolute" : "");
            if (pattern.suffix == "absolute")
                point->module = nullptr; // an address is all that is known, so no `$variables`
        } else {
            point->point.pp = fmt::format("process({}).statement({})", quoted(module.path()),
                                          quoted(place_text(one.function.name, one.file, one.line)));
        }
        points.push_back(*std::move(point));
    }
    if (points.empty())
        explain_no_statement(resolving, module, pattern);
    return points;
}

// Reads the components behind `process`; nullopt after a report.
std::optional<ProcessPattern> read_pattern(Resolving& resolving) {
    ProcessPattern pattern;
    pattern.component = resolving.at(1);
    if (!pattern.component || (pattern.component->name != "function" && pattern.component->name != "statement")) {
        report_component(resolving, 1, {"function", "statement", "mark", "provider"},
                         {"begin", "end", "thread", "syscall", "insn", "plt", "library", "error"});
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
    const PointComponent* suffix = resolving.at(2);
    if (!suffix)
        return pattern;
    std::vector<std::string> allowed = {"call", "return", "inline", "exported"};
    if (pattern.is_statement)
        allowed = {number ? "absolute" : "nearest"};
    if (std::find(allowed.begin(), allowed.end(), suffix->name) == allowed.end()) {
        report_component(resolving, 2, allowed, {"label", "callee", "callees"});
        return std::nullopt;
    }
    if (!expect_argument(resolving, *suffix, PointComponent::None))
        return std::nullopt;
    pattern.suffix = suffix->name;
    if (resolving.at(3)) {
        if (suffix->name == "return")
            report_component(resolving, 3, {}, {"maxactive"});
        else
            report_component(resolving, 3, {});
        return std::nullopt;
    }
    if (pattern.suffix == "nearest" && pattern.parsed.line_kind == FunctionPattern::Absolute)
        pattern.parsed.line_kind = FunctionPattern::Nearest;
    return pattern;
}

} // namespace

std::vector<DwarfModule*> open_process_targets(Resolving& resolving) {
    const PointComponent& target = resolving.components()[0];
    std::string path;
    switch (target.arg) {
    case PointComponent::None:
        if (resolving.env.command_path.empty()) {
            resolving.diags.report(DiagId::BadTarget, target.range, "`process` without a program needs a command")
                .help("give the program: `process(\"PATH\")`, or run one with -c");
            return {};
        }
        path = resolving.env.command_path;
        break;
    case PointComponent::Number: {
        std::error_code error;
        path = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", target.number), error);
        if (error) {
            report_target(resolving, fmt::format("no program of process {}: {}", target.number, error.message()));
            return {};
        }
        break;
    }
    case PointComponent::String: {
        Result<std::string> found = find_in_path(target.text);
        if (found) {
            path = *std::move(found);
            break;
        }
        if (!has_wildcard(target.text)) {
            report_target(resolving, found.error().message);
            return {};
        }
        std::vector<DwarfModule*> modules;
        std::string refused;
        for (const std::string& candidate : expand_target(target.text)) {
            Result<DwarfModule*> module = resolving.env.module(candidate);
            if (module && std::find(modules.begin(), modules.end(), *module) == modules.end())
                modules.push_back(*module);
            else if (!module && refused.empty())
                refused = module.error().message; // a folder or a script among programs
        }
        if (modules.empty())
            report_target(resolving, refused.empty() ? fmt::format("no program matches `{}`", target.text) : refused);
        return modules;
    }
    }
    Result<DwarfModule*> module = resolving.env.module(path);
    if (!module) {
        report_target(resolving, module.error().message);
        return {};
    }
    return {*module};
}

std::vector<ResolvedPoint> resolve_process(Resolving& resolving) {
    if (const PointComponent* second = resolving.at(1);
        second && (second->name == "mark" || second->name == "provider"))
        return resolve_marks(resolving);
    std::optional<ProcessPattern> pattern = read_pattern(resolving);
    if (!pattern)
        return {};
    std::vector<DwarfModule*> modules = open_process_targets(resolving);
    auto resolve_in = [&](DwarfModule& module) {
        return pattern->is_statement ? statements_in(resolving, module, *pattern)
                                     : functions_in(resolving, module, *pattern);
    };
    if (modules.size() == 1)
        return resolve_in(*modules[0]);
    // Of several programs only some need to have the function.
    std::vector<ResolvedPoint> points;
    for (DwarfModule* module : modules) {
        Diagnostics::Suppress quiet(resolving.diags);
        std::vector<ResolvedPoint> some = resolve_in(*module);
        points.insert(points.end(), some.begin(), some.end());
    }
    if (points.empty() && !modules.empty())
        resolving.diags.report(DiagId::NoMatch, pattern->component->arg_range,
                               fmt::format("nothing matches `{}` in the {} programs that match {}",
                                           point_text(resolving.point), modules.size(),
                                           quoted(resolving.components()[0].text)));
    return points;
}

} // namespace sonde
