// Resolves kernel.function("vfs_read"), module("xfs").function("*") and kprobe.function("f"), each with .call, .return
// or .exported.
//
// Names and prototypes come from the kernel's BTF. Functions without BTF come from /proc/kallsyms and have no
// variables.
//
// There are two ways to attach. A trampoline (fentry, fexit) is the fastest, and at the return it still has the
// arguments. It is used for single functions if the kernel supports it. A breakpoint (kprobe) is used for everything
// else.
//
// Source files, lines and inlined copies are not in BTF; see kind_kernel_debug.cc.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/kallsyms.h"
#include "base/suggest.h"
#include "base/tracefs.h"
#include "frontend/probes/kind_kernel.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

// The parts of a function's probe point.
struct FunctionPoint {
    std::string head;   // "kernel", `module("xfs")` or "kprobe", as in pp()
    std::string module; // a pattern; empty: the kernel itself
    const PointComponent* component = nullptr;
    std::string suffix;     // "", "call", "return", "exported"
    std::string active;     // `.maxactive(N)` as written, or ""
    bool by_symbol = false; // kprobe.*: any symbol can be probed, with or without a prototype
};

struct Symbol {
    std::string name, module;
    bool global = false;
};

// Returns the kernel's functions whose symbols match.
std::vector<Symbol> find_symbols(const ProbeEnvironment& env, const std::string& pattern, const std::string& module) {
    std::vector<Symbol> out;
    const Result<std::string>& list = env.kernel_symbols();
    bool plain = !has_wildcard(pattern);
    std::optional<KernelData> data; // created when something matches
    auto is_data = [&](const KernelSymbol& symbol) {
        data = data ? data : find_kernel_data(lines(list));
        return data->has(symbol);
    };
    for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);)
        if (symbol->is_function() && (plain ? symbol->name == pattern : glob_match(pattern, symbol->name)) &&
            symbol->module.empty() == module.empty() && glob_match(module, symbol->module) && !is_data(*symbol))
            out.push_back({std::string(symbol->name), std::string(symbol->module), symbol->is_global()});
    return out;
}

// Whether the kernel or a module has a symbol with this name. True if the symbols cannot be read.
bool has_symbol(const ProbeEnvironment& env, const std::string& name) {
    const Result<std::string>& list = env.kernel_symbols();
    return !list || list->find(" " + name + "\n") != std::string::npos ||
           list->find(" " + name + "\t") != std::string::npos; // a tab is before the name of a module
}

// Returns the functions that the kernel says can be traced (lines "name" or "name [module]"). Empty if the list cannot
// be read.
std::set<std::string, std::less<>> traceable_functions(const ProbeEnvironment& env) {
    std::set<std::string, std::less<>> out;
    if (env.other_kernel) // attaching the probe will tell
        return out;
    Result<std::string> text = read_tracefs("available_filter_functions");
    if (!text)
        return out;
    for (size_t at = 0; at < text->size();) {
        size_t end = std::min(text->find('\n', at), text->size());
        std::string line = text->substr(at, end - at);
        out.insert(line.substr(0, line.find_first_of(" \t")));
        at = end + 1;
    }
    return out;
}

// Reads the components from `at` on, the index of "function". Returns nullopt after reporting an error.
std::optional<FunctionPoint> read_point(Resolving& resolving, size_t at, FunctionPoint out) {
    out.component = resolving.at(at);
    if (!expect_argument(resolving, *out.component, PointComponent::String))
        return std::nullopt;
    if (size_t file = out.component->text.find('@'); file != std::string::npos) {
        resolving.diags
            .report(DiagId::Unsupported, out.component->arg_range,
                    fmt::format("the kernel's types do not contain source files and lines, so sonde cannot find `{}`",
                                out.component->text.substr(file)))
            .help(fmt::format("write `{}.function({})`", out.head, quoted(out.component->text.substr(0, file))));
        return std::nullopt;
    }
    const PointComponent* suffix = resolving.at(at + 1);
    if (!suffix)
        return out;
    const std::vector<std::string> allowed = {"call", "return", "exported"};
    if (std::find(allowed.begin(), allowed.end(), suffix->name) == allowed.end()) {
        report_component(resolving, at + 1, allowed, {"inline", "label", "callee", "callees"});
        return std::nullopt;
    }
    if (!expect_argument(resolving, *suffix, PointComponent::None))
        return std::nullopt;
    out.suffix = suffix->name;
    if (out.suffix == "return")
        return read_active(resolving, at + 2, out.active) ? std::optional(out) : std::nullopt;
    return expect_end(resolving, at + 2) ? std::optional(out) : std::nullopt;
}

void explain_nothing(Resolving& resolving, KernelTypes& kernel, const FunctionPoint& wanted) {
    const std::string& name = wanted.component->text;
    std::string where = wanted.module.empty() ? "in the kernel" : fmt::format("in the module `{}`", wanted.module);
    std::vector<std::string> modules = kernel.modules();
    if (!wanted.module.empty() && !has_wildcard(wanted.module) &&
        std::find(modules.begin(), modules.end(), wanted.module) == modules.end() &&
        find_symbols(resolving.env, "*", wanted.module).empty()) {
        resolving.diags
            .report(DiagId::BadTarget, resolving.components()[0].range,
                    fmt::format("the kernel has no module `{}`", wanted.module))
            .suggest(nearest_name(wanted.module, modules));
        return;
    }
    DiagBuilder report = resolving.diags.report(DiagId::NoMatch, wanted.component->arg_range,
                                                fmt::format("no function `{}` {}", name, where));
    if (!has_wildcard(name))
        report.suggest(nearest_name(name, kernel.function_names(wanted.module)));
    if (resolving.env.other_kernel)
        report.help("a function that the types omit can be found only on that machine");
}

// Whether functions that can have trampolines get them. `several`: the point is a pattern. If the kernel supports
// neither trampolines nor breakpoints, the result does not matter: the point is resolved nevertheless, and the session
// reports the error.
bool prefers_trampolines(const ProbeEnvironment& env, bool several) {
    if (env.attach == "kprobe")
        return false;
    if (env.attach == "fentry" && !several)
        return true;
    const KernelFacts& kernel = *env.kernel_facts;
    const bool fentry = kernel.why_not_fentry().empty(), kprobe = kernel.why_not_kprobe().empty();
    if (several || kernel.preempts_handlers())
        return fentry && !kprobe;
    return fentry || !kprobe;
}

// The trampolines of all kernel versions can pass six arguments in registers.
bool fits_trampoline(const Type* prototype) {
    return prototype && prototype->members.size() <= 6 &&
           std::all_of(prototype->members.begin(), prototype->members.end(),
                       [](const TypeMember& one) { return one.type && is_scalar(one.type); });
}

// Resolves a pattern to functions of the kernel or of modules. BTF is searched first. The symbols are searched if BTF
// has no match, and for `.exported` and kprobe.*, which are about symbols.
std::vector<ResolvedPoint> functions_of(Resolving& resolving, const FunctionPoint& wanted) {
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    const std::string& pattern = wanted.component->text;
    bool several = has_wildcard(pattern) || has_wildcard(wanted.module);
    std::vector<KernelFunction> found = kernel->functions(pattern, &wanted.module);
    // The pattern in `module("*")` does not match the kernel itself.
    std::erase_if(found, [&](const KernelFunction& one) { return one.module.empty() != wanted.module.empty(); });
    // The symbols of another kernel are not known, only its types.
    if ((wanted.by_symbol || wanted.suffix == "exported" || found.empty()) && !resolving.env.other_kernel) {
        std::vector<KernelFunction> named;
        std::set<std::string> seen;
        for (const Symbol& symbol : find_symbols(resolving.env, pattern, wanted.module)) {
            if ((wanted.suffix == "exported" && !symbol.global) || !seen.insert(symbol.name).second)
                continue;
            auto typed = std::find_if(found.begin(), found.end(), [&](const KernelFunction& one) {
                return one.name == symbol.name && one.module == symbol.module;
            });
            named.push_back(typed != found.end() ? *typed : KernelFunction{symbol.name, symbol.module, nullptr});
        }
        found = std::move(named);
    }
    // BTF also has functions that the compiler has inlined or split into parts. The kernel refuses a probe there, so
    // this matters only if the point need not exist, and reading all symbols takes time.
    if (!several && resolving.point.optional && !resolving.env.other_kernel)
        std::erase_if(found, [&](const KernelFunction& one) { return !has_symbol(resolving.env, one.name); });
    // Drop matches of a pattern that cannot be probed.
    if (several) {
        std::set<std::string, std::less<>> traceable = traceable_functions(resolving.env);
        std::erase_if(found, [&](const KernelFunction& one) {
            return one.name.starts_with("__pfx_") || (!traceable.empty() && !traceable.contains(one.name));
        });
    }
    if (found.empty()) {
        explain_nothing(resolving, *kernel, wanted);
        return {};
    }
    bool is_return = wanted.suffix == "return";
    std::vector<ResolvedPoint> points;
    for (const KernelFunction& function : found) {
        ResolvedPoint resolved;
        bool trampoline =
            fits_trampoline(function.type) && function.module.empty() && prefers_trampolines(resolving.env, several);
        using plan::ProbeKind;
        if (trampoline)
            resolved.kind = is_return ? ProbeKind::Fexit : ProbeKind::Fentry;
        else
            resolved.kind = is_return ? ProbeKind::Kretprobe : ProbeKind::Kprobe;
        resolved.in_kernel = true;
        resolved.kernel = kernel;
        resolved.prototype = function.type;
        resolved.is_return = is_return;
        resolved.point.symbol = function.name;
        resolved.point.module = function.module;
        resolved.point.function = function.name;
        std::string head = wanted.module.empty() || wanted.by_symbol
                               ? wanted.head
                               : fmt::format("module({})", quoted(function.module));
        resolved.point.pp = fmt::format("{}.function({}){}{}{}", head, quoted(function.name),
                                        wanted.suffix.empty() ? "" : ".", wanted.suffix, wanted.active);
        if (trampoline) // the program is loaded for this function
            resolved.sharing.only = resolved.point.pp;
        points.push_back(std::move(resolved));
    }
    return points;
}

std::vector<ResolvedPoint> resolve_from(Resolving& resolving, size_t at, FunctionPoint start) {
    std::optional<FunctionPoint> wanted = read_point(resolving, at, std::move(start));
    return wanted ? functions_of(resolving, *wanted) : std::vector<ResolvedPoint>();
}

} // namespace

// Trampolines pass arguments but no registers, so a handler that reads registers needs a breakpoint.
void keep_registers(ResolvedPoint& point, ProbeEnvironment& env) {
    using plan::ProbeKind;
    if (!plan::is_kernel_function(point.kind))
        return;
    point.reads_registers = true;
    bool trampoline = point.kind == ProbeKind::Fentry || point.kind == ProbeKind::Fexit;
    if (!trampoline || !env.kernel_facts->why_not_kprobe().empty())
        return;
    point.kind = point.kind == ProbeKind::Fexit ? ProbeKind::Kretprobe : ProbeKind::Kprobe;
    point.sharing.only.clear();
}

// A handler that assigns `$return` runs before the function. If it sets a result, the kernel skips the function. The
// kernel allows this only for functions that it has marked (fmod_ret programs), with at most six scalar parameters.
bool run_in_place(ResolvedPoint& point, ProbeEnvironment& env, Diagnostics& diags, Range range) {
    if (!plan::is_kernel_function(point.kind) || !point.is_return)
        return true;
    const std::string& name = point.point.symbol;
    auto refuse = [&](DiagId id, const std::string& why, const std::string& help = "") {
        DiagBuilder report = diags.report(id, range, why);
        if (!help.empty())
            report.help(help);
        return false;
    };
    if (!env.guru)
        return refuse(DiagId::NeedsGuru, fmt::format("setting `$return` replaces `{}` in the kernel", name),
                      "-g allows it");
    if (!point.point.module.empty())
        return refuse(DiagId::Unsupported,
                      fmt::format("cannot write `$return`: the results of a module's functions cannot be set, and `{}` "
                                  "is one of `{}`",
                                  name, point.point.module));
    if (!point.prototype) { // the function was found in debug information
        const std::string in_kernel;
        std::vector<KernelFunction> typed = point.kernel->functions(name, &in_kernel);
        point.prototype = typed.empty() ? nullptr : typed[0].type;
    }
    if (point.prototype && !point.prototype->target)
        return refuse(DiagId::WrongContext, fmt::format("`{}` returns nothing", name));
    if (!fits_trampoline(point.prototype) || !is_scalar(point.prototype->target))
        return refuse(DiagId::Unsupported,
                      fmt::format("cannot write `$return`: the kernel's trampolines cannot replace `{}`, {}", name,
                                  point.prototype
                                      ? "which has more than six parameters, or a structure as a parameter or result"
                                      : "whose prototype is not in the kernel's types"));
    const std::string why = env.kernel_facts->why_no_decision(plan::ProbeKind::Override, name);
    if (!why.empty()) {
        // Part of a decision that a security module makes: security_x() calls cap_x().
        const std::string whole = name.starts_with("cap_") ? "security_" + name.substr(4) : "";
        const std::string in_kernel;
        const bool has_whole = !whole.empty() && !point.kernel->functions(whole, &in_kernel).empty();
        // If not even the results of security hooks can be set, the kernel does not allow it for any function.
        const bool has_any = env.kernel_facts->why_no_decision(plan::ProbeKind::Override, "security_file_open").empty();
        return refuse(
            DiagId::Unsupported, fmt::format("the result of `{}` cannot be set on this kernel: {}", name, why),
            !has_any ? ""
            : has_whole
                ? fmt::format("probe `kernel.function(\"{}\").return` instead, which makes this decision", whole)
                : "`sonde -l 'kernel.function(\"security_*\").return'` lists functions whose result can be set");
    }
    point.kind = plan::ProbeKind::Override;
    point.sharing.only = point.point.pp;
    point.is_return = point.reads_registers = false;
    point.module = nullptr;
    point.function = {};
    point.point.offset = 0;
    point.variables = &result_source;
    return true;
}

namespace {

// Resolves kernel.statement(ADDRESS).absolute and kprobe.statement(ADDRESS).absolute: a breakpoint at an address from
// the user. Nothing else is known about the place.
std::vector<ResolvedPoint> resolve_kernel_address(Resolving& resolving, size_t at) {
    const PointComponent &component = *resolving.at(at), *suffix = resolving.at(at + 1);
    if (!expect_argument(resolving, component, PointComponent::Number))
        return {};
    if (!suffix || suffix->name != "absolute") {
        report_component(resolving, at + 1, {"absolute"});
        return {};
    }
    if (!expect_argument(resolving, *suffix, PointComponent::None) || !expect_end(resolving, at + 2))
        return {};
    auto address = static_cast<uint64_t>(component.number);
    if (!resolving.env.guru) {
        resolving.diags
            .report(DiagId::NeedsGuru, component.range,
                    "probing an address of the kernel needs guru mode, because sonde cannot check the address")
            .help("-g allows it");
        return {};
    }
    if (component.number >= 0) {
        resolving.diags
            .report(DiagId::BadNumber, component.arg_range,
                    fmt::format("{:#x} is not an address of the kernel, which begins with 0xffff", address))
            .help("/proc/kallsyms lists the addresses of the kernel's functions");
        return {};
    }
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Kprobe;
    resolved.in_kernel = true;
    resolved.kernel = kernel;
    resolved.point.offset = address;
    resolved.point.pp = fmt::format("{}.statement({:#x}).absolute", resolving.components()[0].name, address);
    return {resolved};
}

} // namespace

std::vector<ResolvedPoint> resolve_kernel_statement(Resolving& resolving) {
    if (!expect_kernel(resolving))
        return {};
    return needs_debug_info(resolving) ? resolve_kernel_debug(resolving) : resolve_kernel_address(resolving, 1);
}

std::vector<ResolvedPoint> resolve_kernel_function(Resolving& resolving) {
    if (!expect_kernel(resolving))
        return {};
    if (needs_debug_info(resolving))
        return resolve_kernel_debug(resolving);
    FunctionPoint start;
    start.head = "kernel";
    return resolve_from(resolving, 1, start);
}

std::vector<ResolvedPoint> resolve_module_function(Resolving& resolving) {
    const PointComponent& first = resolving.components()[0];
    if (!expect_argument(resolving, first, PointComponent::String))
        return {};
    if (needs_debug_info(resolving))
        return resolve_module_debug(resolving);
    FunctionPoint start;
    start.module = first.text;
    start.head = fmt::format("module({})", quoted(first.text));
    return resolve_from(resolving, 1, start);
}

std::vector<ResolvedPoint> resolve_kprobe(Resolving& resolving) {
    if (!expect_argument(resolving, resolving.components()[0], PointComponent::None))
        return {};
    FunctionPoint start;
    start.head = "kprobe";
    start.by_symbol = true;
    size_t at = 1;
    if (const PointComponent* module = resolving.at(at); module && module->name == "module") {
        if (!expect_argument(resolving, *module, PointComponent::String))
            return {};
        start.module = module->text;
        start.head = fmt::format("kprobe.module({})", quoted(module->text));
        at++;
    }
    const PointComponent* function = resolving.at(at);
    if (function && at == 1 && function->name == "statement")
        return resolve_kernel_address(resolving, at);
    if (!function || function->name != "function") {
        report_component(resolving, at,
                         at == 1 ? std::vector<std::string>{"function", "module", "statement"}
                                 : std::vector<std::string>{"function"});
        return {};
    }
    return resolve_from(resolving, at, start);
}

} // namespace sonde
