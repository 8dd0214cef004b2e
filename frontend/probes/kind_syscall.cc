// __syscall.NAME and __syscall.NAME.return, which stdlib's `syscall` stands for: system calls by name.
//
// All of them are the raw tracepoints sys_enter and sys_exit: one program for any number of calls, which finds out at
// which of its points it is by the call's number. Parameters are in the user's registers, as they were at the call.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/kind_kernel.h"

namespace sonde {
namespace {

const Syscall all_syscalls[] = {
#define SYSCALL(number, name, parameters) {number, name, parameters},
#include "frontend/probes/syscalls.def"
#undef SYSCALL
};

} // namespace

std::vector<ResolvedPoint> resolve_syscall(Resolving& resolving) {
    using ast::PointComponent;
    const PointComponent* component = resolving.at(1);
    if (!component) {
        resolving.diags
            .report(DiagId::UnknownProbePoint, resolving.components()[0].range, "`syscall` needs the call's name")
            .help("as `syscall.openat` or `syscall.*`");
        return {};
    }
    const PointComponent* suffix = resolving.at(2);
    bool is_return = suffix && suffix->name == "return";
    if (suffix && !is_return && suffix->name != "call") {
        report_component(resolving, 2, {"call", "return"});
        return {};
    }
    if (!expect_argument(resolving, *component, PointComponent::None) || !expect_end(resolving, 3))
        return {};
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    std::vector<ResolvedPoint> points;
    for (const Syscall& syscall : all_syscalls) {
        if (!glob_match(component->name, syscall.name))
            continue;
        ResolvedPoint resolved;
        resolved.kind = plan::ProbeKind::Tracepoint;
        resolved.in_kernel = true;
        resolved.kernel = kernel;
        resolved.syscall = &syscall;
        resolved.is_exit = is_return;
        resolved.point.symbol = is_return ? "sys_exit" : "sys_enter";
        resolved.point.function = syscall.name;
        resolved.point.number = syscall.number;
        resolved.point.pp = fmt::format("syscall.{}{}", syscall.name, is_return ? ".return" : "");
        points.push_back(std::move(resolved));
    }
    if (points.empty()) {
        std::vector<std::string> names;
        for (const Syscall& syscall : all_syscalls)
            names.emplace_back(syscall.name);
        resolving.diags
            .report(DiagId::NoMatch, component->range, fmt::format("there is no system call `{}`", component->name))
            .suggest(nearest_name(component->name, names));
    }
    return points;
}

} // namespace sonde
