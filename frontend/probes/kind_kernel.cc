// kernel.trace("sched:sched_switch") and kernel.tracepoint("sched_switch"): what the kernel's sources have marked.
//
// Attached as raw tracepoints, which hand over the very arguments of TP_PROTO; their names and types are in the
// kernel's BTF. One program can serve many points, and the typed form of these programs would not be safer here: what
// a pointer leads to is read with a check either way, because a script wants to know when it cannot be.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "base/tracefs.h"
#include "frontend/probes/kind_kernel.h"

namespace sonde {
namespace {

using ast::PointComponent;

// The subsystem of each event, by its name, from "sched:sched_switch" a line; empty where tracefs cannot be read,
// and for another kernel, whose types do not tell them.
std::multimap<std::string, std::string> event_systems(const ProbeEnvironment& env) {
    std::multimap<std::string, std::string> out;
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

std::vector<ResolvedPoint> resolve_tracepoints(Resolving& resolving) {
    const PointComponent &first = resolving.components()[0], &component = *resolving.at(1);
    // A pattern of the modules that have them; null: the kernel and all modules.
    const std::string* module = first.name == "module" ? &first.text : nullptr;
    if (!expect_argument(resolving, first, module ? PointComponent::String : PointComponent::None))
        return {};
    if (!expect_argument(resolving, component, PointComponent::String) || !expect_end(resolving, 2))
        return {};
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    size_t colon = component.text.find(':');
    std::string system = colon == std::string::npos ? "" : component.text.substr(0, colon);
    std::string name = colon == std::string::npos ? component.text : component.text.substr(colon + 1);
    std::multimap<std::string, std::string> systems = event_systems(resolving.env);
    bool known = !systems.empty();
    // A name alone finds its tracepoint, since no two have the same: nothing else has to be mounted for that.
    std::string said;
    if (!known && !has_wildcard(system) && !has_wildcard(name))
        said = std::exchange(system, {});
    if (resolving.env.other_kernel)
        said.clear();
    if (!system.empty() && !known) {
        resolving.diags
            .report(DiagId::NoMatch, component.arg_range,
                    fmt::format("which tracepoints `{}` has is not known: {}", system,
                                resolving.env.other_kernel
                                    ? "the types of another kernel do not tell"
                                    : "tracefs alone tells, which is not mounted and may not be"))
            .help(fmt::format("write `kernel.trace({})`, or name each as in `kernel.trace({})`", quoted(name),
                              quoted(system + ":NAME")));
        return {};
    }
    bool several = has_wildcard(name);
    std::vector<ResolvedPoint> points;
    for (const KernelFunction& found : kernel->tracepoints(name, module)) {
        if (module && (found.module.empty() || !glob_match(*module, found.module)))
            continue;
        auto [first, last] = systems.equal_range(found.name);
        auto fits = [&](const auto& entry) { return system.empty() || glob_match(system, entry.second); };
        auto of = std::find_if(first, last, fits);
        if (of == last && !system.empty())
            continue;
        ResolvedPoint resolved;
        resolved.kind = plan::ProbeKind::Tracepoint;
        resolved.in_kernel = true;
        resolved.kernel = kernel;
        resolved.prototype = found.type;
        resolved.system = of == last ? said : of->second;
        resolved.point.symbol = found.name;
        resolved.point.module = found.module;
        resolved.point.function = found.name;
        std::string title = resolved.system.empty() ? found.name : fmt::format("{}:{}", resolved.system, found.name);
        resolved.point.pp =
            fmt::format("{}.{}({})", module ? fmt::format("module({})", quoted(found.module)) : "kernel",
                        component.name, quoted(title));
        points.push_back(std::move(resolved));
    }
    if (points.empty() && module && !has_wildcard(*module) && std::ranges::count(kernel->modules(), *module) == 0) {
        resolving.diags
            .report(DiagId::BadTarget, resolving.components()[0].arg_range,
                    fmt::format("there is no module `{}` in the kernel, or it has no types", *module))
            .suggest(nearest_name(*module, kernel->modules()));
    } else if (points.empty()) {
        std::string of = module           ? fmt::format(" in the module `{}`", *module)
                         : system.empty() ? ""
                                          : fmt::format(" in `{}`", system);
        DiagBuilder report =
            resolving.diags.report(DiagId::NoMatch, component.arg_range, fmt::format("no tracepoint `{}`{}", name, of));
        std::string near = several ? "" : nearest_name(name, kernel->tracepoint_names());
        auto owner = systems.find(near.empty() ? name : near);
        if (!near.empty() && owner != systems.end() && !system.empty())
            near = fmt::format("{}:{}", owner->second, near);
        if (!near.empty())
            report.suggest(near);
        else if (resolving.env.other_kernel && !module)
            report.help("`module(\"NAME\").tracepoint(...)` looks into a module of that kernel");
        else if (!system.empty() && owner != systems.end())
            report.help(fmt::format("it is in `{}`", owner->second));
    }
    return points;
}

} // namespace sonde
