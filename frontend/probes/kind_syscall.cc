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
#define SYSCALL(number, name, parameters, text) {number, name, parameters, text},
#include "frontend/probes/syscalls.def"
#undef SYSCALL
};

// Names that SystemTap has for a call that the kernel now calls something else.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
    {"ftruncate64", "ftruncate"},
    {"truncate64", "truncate"},
    {"fadvise64_64", "fadvise64"},
};
// Calls that SystemTap has probes for and that 64-bit programs do not make: such a probe is never hit.
constexpr std::string_view absent[] = {
    "bdflush",         "chown16",    "fchown16",       "fstatfs64",  "get_thread_area",
    "lchown16",        "llseek",     "lookup_dcookie", "nice",       "ni_syscall",
    "pwrite32",        "readdir",    "recv",           "send",       "setregid16",
    "setresgid16",     "sgetmask",   "setresuid16",    "setreuid16", "settimeofday32",
    "set_thread_area", "sigaction",  "sigaction32",    "signal",     "sigpending",
    "sigprocmask",     "sigsuspend", "ssetmask",       "statfs64",   "stime",
    "sysctl",          "uselib",     "ustat32",        "waitpid",    "rt_sigaction32",
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
    std::string wanted = component->name;
    for (auto [name, now] : synonyms)
        if (wanted == name)
            wanted = now;
    std::vector<ResolvedPoint> points;
    for (const Syscall& syscall : all_syscalls) {
        if (!glob_match(wanted, syscall.name))
            continue;
        ResolvedPoint resolved;
        resolved.kind = plan::ProbeKind::Tracepoint;
        resolved.in_kernel = true;
        resolved.kernel = kernel;
        resolved.syscall = &syscall;
        resolved.is_exit = resolved.is_return = is_return;
        resolved.point.symbol = is_return ? "sys_exit" : "sys_enter";
        resolved.point.function = syscall.name;
        resolved.point.number = syscall.number;
        resolved.point.pp = fmt::format("syscall.{}{}", syscall.name, is_return ? ".return" : "");
        points.push_back(std::move(resolved));
    }
    bool is_absent = std::find(std::begin(absent), std::end(absent), wanted) != std::end(absent);
    if (points.empty() && !is_absent && !wanted.starts_with("compat_")) {
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
