// Resolves kernel.trace("sched:sched_switch") and kernel.tracepoint("sched_switch"): the kernel's tracepoints.
//
// They are attached as raw tracepoints, which pass the arguments of TP_PROTO unchanged. The kernel's BTF has their
// names and types. One program can serve many tracepoints.
//
// The kernel also offers typed tracepoint programs (tp_btf), which may read through pointers without a check. sonde
// does not need them: it checks every read, because scripts must be able to detect a failing one.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "base/tracefs.h"
#include "frontend/probes/kind_kernel.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

// Maps each event to its subsystem, from lines such as "sched:sched_switch". Empty if tracefs cannot be read, and for
// another kernel, whose types do not contain subsystems.
using EventSystems = std::multimap<std::string, std::string>;
EventSystems event_systems(const ProbeEnvironment& env) {
    EventSystems out;
    if (env.other_kernel)
        return out;
    Result<std::string> text = read_tracefs("available_events");
    for (size_t at = 0; text && at < text->size();) {
        size_t end = std::min(text->find('\n', at), text->size());
        std::string line = text->substr(at, end - at);
        if (size_t colon = line.find(':'); colon != std::string::npos)
            out.emplace(line.substr(colon + 1), line.substr(0, colon));
        at = end + 1;
    }
    return out;
}

} // namespace

KernelTypes* open_kernel(Resolving& resolving) {
    Result<KernelTypes*> kernel = resolving.env.kernel();
    if (kernel)
        return *kernel;
    resolving.diags.report(DiagId::NoDebugInfo, resolving.components()[0].range, kernel.error().message);
    return nullptr;
}

bool expect_kernel(Resolving& resolving) {
    return expect_argument(resolving, resolving.components()[0], PointComponent::None);
}

namespace {

// The parts of a tracepoint's probe point.
struct TracepointPattern {
    const PointComponent& component;
    const std::string* module; // a pattern for the modules with the tracepoint; null: the kernel and all modules
    std::string system;        // a pattern; empty: any subsystem
    std::string name;          // a pattern
    // The subsystem as written. Names of tracepoints are unique, so the name alone finds the tracepoint even if tracefs
    // is not mounted.
    std::string said_system;
};

TracepointPattern read_pattern(const Resolving& resolving, const EventSystems& systems) {
    const PointComponent &first = resolving.components()[0], &component = *resolving.at(1);
    size_t colon = component.text.find(':');
    TracepointPattern out{component, first.name == "module" ? &first.text : nullptr,
                          colon == std::string::npos ? "" : component.text.substr(0, colon),
                          colon == std::string::npos ? component.text : component.text.substr(colon + 1), ""};
    if (systems.empty() && !has_wildcard(out.system) && !has_wildcard(out.name))
        out.said_system = std::exchange(out.system, {});
    if (resolving.env.other_kernel)
        out.said_system.clear();
    return out;
}

// Reports that the tracepoints of a subsystem are not known.
void refuse_system(Resolving& resolving, const TracepointPattern& pattern) {
    resolving.diags
        .report(DiagId::NoMatch, pattern.component.arg_range,
                fmt::format("the tracepoints of `{}` are not known: {}", pattern.system,
                            resolving.env.other_kernel
                                ? "the types of another kernel do not name them"
                                : "only tracefs lists them, and it is not mounted and cannot be mounted"))
        .help(fmt::format("write `kernel.trace({})`, or name each tracepoint as in `kernel.trace({})`",
                          quoted(pattern.name), quoted(pattern.system + ":NAME")));
}

ResolvedPoint tracepoint_at(const TracepointPattern& pattern, const KernelFunction& found, std::string system,
                            KernelTypes* kernel, bool has_cookie) {
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Tracepoint;
    resolved.in_kernel = true;
    resolved.kernel = kernel;
    resolved.prototype = found.type;
    resolved.system = std::move(system);
    resolved.point.symbol = found.name;
    resolved.point.module = found.module;
    resolved.point.function = found.name;
    std::string title = resolved.system.empty() ? found.name : fmt::format("{}:{}", resolved.system, found.name);
    resolved.point.pp =
        fmt::format("{}.{}({})", pattern.module ? fmt::format("module({})", quoted(found.module)) : "kernel",
                    pattern.component.name, quoted(title));
    // Without a cookie, a program cannot tell which of several tracepoints it is at.
    if (!has_cookie)
        resolved.sharing = {resolved.point.pp, resolved.point.pp};
    return resolved;
}

// Reports that nothing matches, and suggests the most similar name or the subsystem that has the tracepoint.
void explain_no_tracepoint(Resolving& resolving, const TracepointPattern& pattern, const EventSystems& systems,
                           KernelTypes& kernel) {
    const std::string* module = pattern.module;
    const std::string &system = pattern.system, &name = pattern.name;
    if (module && !has_wildcard(*module) && std::ranges::count(kernel.modules(), *module) == 0) {
        resolving.diags
            .report(DiagId::BadTarget, resolving.components()[0].arg_range,
                    fmt::format("the kernel has no module `{}`, or the module has no types", *module))
            .suggest(nearest_name(*module, kernel.modules()));
        return;
    }
    std::string of = module           ? fmt::format(" in the module `{}`", *module)
                     : system.empty() ? ""
                                      : fmt::format(" in `{}`", system);
    DiagBuilder report = resolving.diags.report(DiagId::NoMatch, pattern.component.arg_range,
                                                fmt::format("no tracepoint `{}`{}", name, of));
    std::string near = has_wildcard(name) ? "" : nearest_name(name, kernel.tracepoint_names());
    auto owner = systems.find(near.empty() ? name : near);
    if (!near.empty() && owner != systems.end() && !system.empty())
        near = fmt::format("{}:{}", owner->second, near);
    // The kernel creates tracepoints of single system calls differently; they are not raw tracepoints.
    for (auto [prefix, suffix] :
         {std::pair<std::string_view, std::string_view>{"sys_enter_", ""}, {"sys_exit_", ".return"}})
        if (!module && name.starts_with(prefix) &&
            is_syscall(name.substr(prefix.size()), *resolving.env.architecture)) {
            report.help(fmt::format("write the system call as `syscall.{}{}`", name.substr(prefix.size()), suffix));
            return;
        }
    if (!near.empty())
        report.suggest(near);
    else if (resolving.env.other_kernel && !module)
        report.help("`module(\"NAME\").tracepoint(...)` searches a module of that kernel");
    else if (!system.empty() && owner != systems.end())
        report.help(fmt::format("the tracepoint is in `{}`", owner->second));
}

} // namespace

std::vector<ResolvedPoint> resolve_tracepoints(Resolving& resolving) {
    const PointComponent &first = resolving.components()[0], &component = *resolving.at(1);
    if (!expect_argument(resolving, first, first.name == "module" ? PointComponent::String : PointComponent::None))
        return {};
    if (!expect_argument(resolving, component, PointComponent::String) || !expect_end(resolving, 2))
        return {};
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    EventSystems systems = event_systems(resolving.env);
    TracepointPattern pattern = read_pattern(resolving, systems);
    if (!pattern.system.empty() && systems.empty()) {
        refuse_system(resolving, pattern);
        return {};
    }
    const bool has_cookie = resolving.env.kernel_facts && resolving.env.kernel_facts->tracepoint_cookie();
    std::vector<ResolvedPoint> points;
    for (const KernelFunction& found : kernel->tracepoints(pattern.name, pattern.module)) {
        if (pattern.module && (found.module.empty() || !glob_match(*pattern.module, found.module)))
            continue;
        auto [begin, end] = systems.equal_range(found.name);
        auto of = std::find_if(begin, end, [&](const auto& entry) {
            return pattern.system.empty() || glob_match(pattern.system, entry.second);
        });
        if (of == end && !pattern.system.empty())
            continue;
        points.push_back(
            tracepoint_at(pattern, found, of == end ? pattern.said_system : of->second, kernel, has_cookie));
    }
    if (points.empty())
        explain_no_tracepoint(resolving, pattern, systems, *kernel);
    return points;
}

} // namespace sonde
