// __syscall.NAME and __syscall.NAME.return, which stdlib's `syscall` stands for: system calls by name.
//
// All of them are the raw tracepoints sys_enter and sys_exit: one program for any number of calls, which finds out at
// which of its points it is by the call's number. Parameters are in the user's registers, as they were at the call.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/kallsyms.h"
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
    "bdflush",     "chown16",     "fchown16",       "fstatfs64",      "get_thread_area",
    "gethostname", "lchown16",    "llseek",         "lookup_dcookie", "mmap32",
    "nfsservctl",  "nice",        "pipe32",         "pselect7",       "pwrite32",
    "readdir",     "recv",        "rt_sigaction32", "send",           "set_thread_area",
    "setregid16",  "setresgid16", "setresuid16",    "setreuid16",     "settimeofday32",
    "sgetmask",    "sigaction",   "sigaction32",    "signal",         "sigpending",
    "sigprocmask", "sigreturn",   "sigsuspend",     "ssetmask",       "statfs64",
    "stime",       "sysctl",      "sysctl32",       "timerfd",        "tux",
    "uselib",      "ustat32",     "vm86_warning",   "waitpid",
};

// The calls that this kernel has no code for, each as one more call `ni_syscall`.
constexpr const char* no_code = "ni_syscall";
// The last of them stands for all greater numbers too (codegen/bpf/points.cc): no kernel's table is that long.
constexpr int beyond_table = 511;

// Calls of the kernel's own that no script names.
constexpr std::pair<int, std::string_view> unnamed[] = {
    {335, "uretprobe"}, {336, "uprobe"}, {453, "map_shadow_stack"}, {470, "listns"}, {471, "rseq_slice_yield"},
};
// From here on a call's function has the call's name.
constexpr int first_of_all_architectures = 424;

// The kernel's functions for system calls, by the calls' names: whether they do something. Those that a kernel may be
// built without have a weak function that does not (COND_SYSCALL of arch/x86/include/asm/syscall_wrapper.h).
std::map<std::string, bool, std::less<>> call_functions(const ProbeEnvironment& env) {
    constexpr std::string_view prefix = "__x64_sys_";
    std::map<std::string, bool, std::less<>> out;
    const Result<std::string>& list = env.kernel_symbols();
    for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);)
        if (symbol->name.starts_with(prefix))
            out[std::string(symbol->name.substr(prefix.size()))] |= symbol->letter == 'T';
    return out;
}

std::vector<Syscall> calls_without_code(const ProbeEnvironment& env) {
    const std::map<std::string, bool, std::less<>> functions = call_functions(env);
    auto is_missing = [&](int number, std::string_view name) {
        auto function = functions.find(name);
        return function == functions.end() ? number >= first_of_all_architectures && !functions.empty()
                                           : !function->second;
    };
    std::vector<Syscall> out;
    for (int number = 0; number <= beyond_table; number++) {
        const auto* known = std::ranges::find(all_syscalls, number, &Syscall::number);
        const auto* own = std::ranges::find(unnamed, number, &std::pair<int, std::string_view>::first);
        if (known != std::end(all_syscalls) ? is_missing(number, known->name)
                                            : own == std::end(unnamed) || !functions.contains(own->second))
            out.push_back({number, no_code, "", ""});
    }
    return out;
}

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
    std::string active;
    if (!expect_argument(resolving, *component, PointComponent::None) ||
        !(is_return ? read_active(resolving, 3, active) : expect_end(resolving, 3)))
        return {};
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    std::string wanted = component->name;
    for (auto [name, now] : synonyms)
        if (wanted == name)
            wanted = now;
    std::vector<ResolvedPoint> points;
    auto add = [&](const Syscall& syscall) {
        ResolvedPoint resolved;
        resolved.kind = plan::ProbeKind::Tracepoint;
        resolved.in_kernel = true;
        resolved.kernel = kernel;
        resolved.syscall = &syscall;
        resolved.is_exit = resolved.is_return = is_return;
        resolved.point.symbol = is_return ? "sys_exit" : "sys_enter";
        resolved.point.function = syscall.name;
        resolved.point.number = syscall.number;
        resolved.point.pp = fmt::format("syscall.{}{}{}", syscall.name, is_return ? ".return" : "", active);
        points.push_back(std::move(resolved));
    };
    for (const Syscall& syscall : all_syscalls)
        if (glob_match(wanted, syscall.name))
            add(syscall);
    if (wanted == no_code) {
        if (resolving.env.no_code_calls.empty())
            resolving.env.no_code_calls = calls_without_code(resolving.env);
        for (const Syscall& syscall : resolving.env.no_code_calls)
            add(syscall);
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
