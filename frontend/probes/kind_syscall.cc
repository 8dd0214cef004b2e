// __syscall.NAME and __syscall.NAME.return, which stdlib's `syscall` stands for: system calls by name.
//
// All of them are the raw tracepoints sys_enter and sys_exit: one program for any number of calls, which finds out at
// which of its points it is by the call's number. Parameters are in the user's registers, as they were at the call.
//
// A call of a 32-bit program is a second number of the same point, so that both share a handler: its arguments are put
// where a 64-bit program has them before the handler runs.
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/debug_file.h"
#include "base/glob.h"
#include "base/kallsyms.h"
#include "base/suggest.h"
#include "frontend/probes/kind_kernel.h"

namespace sonde {
namespace {

constexpr int first_of_all_architectures = 424; // from here on a call has one number and a function of its name

// Where a 32-bit program has a call's arguments, as syscalls_32.def says it; by default in the registers in their
// order, where a `long` has a sign.
uint64_t narrow_arguments(std::string_view parameters, std::string_view sources) {
    uint64_t out = 0;
    for (unsigned i = 0; i < 6; i++) {
        const std::string_view parameter = parameters.substr(0, parameters.find(','));
        parameters.remove_prefix(std::min(parameters.size(), parameter.size() + 2));
        const std::string_view source = sources.substr(0, sources.find(' '));
        sources.remove_prefix(std::min(sources.size(), source.size() + 1));
        const bool is_signed = parameter.starts_with("long ") || parameter.starts_with("off_t ");
        unsigned way = is_signed ? SONDE_ARGUMENT_SIGNED : SONDE_ARGUMENT_REGISTER, place = i;
        if (!source.empty()) {
            place = static_cast<unsigned>(source.back() - '1');
            if (source.size() == 2)
                way = source[0] == 'w'   ? SONDE_ARGUMENT_ID
                      : source[0] == 'p' ? SONDE_ARGUMENT_PAGES
                      : source[0] == '+' ? SONDE_ARGUMENT_PAIR
                      : is_signed        ? SONDE_ARGUMENT_SIGNED_WORD
                                         : SONDE_ARGUMENT_WORD;
            else if (source == "0")
                way = SONDE_ARGUMENT_NOWHERE, place = 0;
        }
        out |= static_cast<uint64_t>(way | place) << 8 * i;
    }
    return out;
}

std::vector<Syscall> make_syscalls() {
    std::vector<Syscall> all = {
#define SYSCALL(number, name, parameters, text) {number, name, parameters, text},
#include "frontend/probes/syscalls.def"
#undef SYSCALL
    };
    auto add = [&](int64_t number, std::string_view name, std::string_view sources) {
        const auto call = std::ranges::find(all, name, &Syscall::name);
        CHECK(call != all.end());
        call->narrow_calls.push_back({number, narrow_arguments(call->parameters, sources)});
    };
    for (const Syscall& call : all)
        if (call.number >= first_of_all_architectures)
            add(call.number, call.name, "");
#define SAME(number, name) add(number, name, "");
#define SAME_FROM(number, name, sources) add(number, name, sources);
#define CALL(number, name, parameters, text, sources)                                                                  \
    all.push_back({-1, name, parameters, text, {{number, narrow_arguments(parameters, sources)}}});
#include "frontend/probes/syscalls_32.def"
#undef SAME
#undef SAME_FROM
#undef CALL
    return all;
}
const std::vector<Syscall>& all_syscalls() {
    static const std::vector<Syscall> all = make_syscalls();
    return all;
}

// Names that SystemTap has for a call that the kernel now calls something else.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
    {"ftruncate64", "ftruncate"},
    {"truncate64", "truncate"},
    {"fadvise64_64", "fadvise64"},
};
// Calls that SystemTap has probes for and that no program can make, and its names for what 32-bit programs do, which
// comes by as the call itself: such a probe is never hit.
constexpr std::string_view absent[] = {
    "bdflush",        "gethostname", "mmap32", "nfsservctl", "pipe32",  "pselect7", "pwrite32", "rt_sigaction32",
    "settimeofday32", "sigaction32", "sysctl", "sysctl32",   "timerfd", "tux",      "ustat32",  "vm86_warning",
};

// The calls that this kernel has no code for, each as one more call `ni_syscall`.
constexpr const char* no_code = "ni_syscall";
// The last of them stands for all greater numbers too (codegen/bpf/points.cc): no kernel's table is that long.
constexpr int beyond_table = 511;

// Calls of the kernel's own that no script names.
constexpr std::pair<int, std::string_view> unnamed[] = {
    {335, "uretprobe"}, {336, "uprobe"}, {453, "map_shadow_stack"}, {470, "listns"}, {471, "rseq_slice_yield"},
};

// The kernel's functions for system calls, by the calls' names: whether they do something. Those that a kernel may be
// built without have a weak function that does not (COND_SYSCALL of arch/x86/include/asm/syscall_wrapper.h).
using CallFunctions = std::map<std::string, bool, std::less<>>;

CallFunctions find_call_functions(const ProbeEnvironment& env) {
    constexpr std::string_view prefix = "__x64_sys_";
    CallFunctions out;
    const Result<std::string>& list = env.kernel_symbols();
    for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);)
        if (symbol->name.starts_with(prefix))
            out[std::string(symbol->name.substr(prefix.size()))] |= symbol->letter == 'T';
    return out;
}

// The same. One build of a kernel always has the same ones, and its symbols take a third of the time that a script
// takes whose plan is kept.
CallFunctions call_functions(const ProbeEnvironment& env) {
    Result<std::string> build = env.other_kernel ? Result<std::string>(Error("")) : running_kernel_build_id();
    KeptTexts* kept = build && !build->empty() && env.kept_texts ? env.kept_texts() : nullptr;
    if (!kept)
        return find_call_functions(env);
    const std::string name = "syscalls-" + *build;
    CallFunctions out;
    if (std::optional<std::string> text = kept->load(name)) {
        std::istringstream words(*text);
        bool does_something = false;
        for (std::string function; words >> function >> does_something;)
            out[function] = does_something;
        return out;
    }
    out = find_call_functions(env);
    std::string text;
    for (const auto& [function, does_something] : out)
        text += fmt::format("{} {:d}\n", function, does_something);
    if (!out.empty())
        kept->store(name, text);
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
    const std::vector<Syscall>& all = all_syscalls();
    for (int number = 0; number <= beyond_table; number++) {
        const auto known = std::ranges::find(all, number, &Syscall::number);
        const auto* own = std::ranges::find(unnamed, number, &std::pair<int, std::string_view>::first);
        if (known != all.end() ? is_missing(number, known->name)
                               : own == std::end(unnamed) || !functions.contains(own->second))
            out.push_back({number, no_code, "", ""});
        // The functions of calls that only 32-bit programs make are not asked for.
        const auto narrow = std::ranges::find_if(all, [&](const Syscall& one) {
            return std::ranges::count(one.narrow_calls, number, &plan::NarrowCall::number) > 0;
        });
        const bool calls_others = number == SONDE_CALL_OLD_SELECT || number == SONDE_CALL_OLD_MMAP ||
                                  number == SONDE_CALL_SOCKETCALL || number == SONDE_CALL_IPC;
        if (narrow != all.end() ? narrow->number >= 0 && is_missing(narrow->number, narrow->name) : !calls_others)
            out.push_back({-1, no_code, "", "", {{number, 0}}});
    }
    return out;
}

} // namespace

bool is_syscall(std::string_view name) {
    return std::ranges::find(all_syscalls(), name, &Syscall::name) != all_syscalls().end();
}

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
        resolved.point.narrow_calls = syscall.narrow_calls;
        resolved.point.pp = fmt::format("syscall.{}{}{}", syscall.name, is_return ? ".return" : "", active);
        points.push_back(std::move(resolved));
    };
    for (const Syscall& syscall : all_syscalls())
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
        for (const Syscall& syscall : all_syscalls())
            names.emplace_back(syscall.name);
        resolving.diags
            .report(DiagId::NoMatch, component->range, fmt::format("there is no system call `{}`", component->name))
            .suggest(nearest_name(component->name, names));
    }
    return points;
}

} // namespace sonde
