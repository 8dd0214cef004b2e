// Resolves __syscall.NAME and __syscall.NAME.return, which implement the library's `syscall.NAME`.
//
// All system calls share the raw tracepoints sys_enter and sys_exit. One program serves any number of calls, and uses
// the call's number to find the point that it is at. The parameters are in the saved user registers.
//
// A 32-bit program uses other numbers and other registers. Its number is a second number of the same point, so both
// share one handler. Before the handler runs, the arguments are moved to where a 64-bit program has them.
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/check.h"
#include "base/debug_file.h"
#include "base/glob.h"
#include "base/kallsyms.h"
#include "base/suggest.h"
#include "frontend/probes/kind_kernel.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// Returns the encoded places of a call's arguments in a 32-bit program: one byte for each argument, the first in the
// lowest byte. A byte is a register's number with a SONDE_ARGUMENT_* in the upper bits (arch/narrow_arguments.h).
// `sources` is the field of NarrowCallNumber. By default the arguments are in the registers, in order, and a `long` is
// extended by sign.
//
// For pread64 with "1 2 3 +4", the fourth byte says that the offset's halves are in the registers 4 and 5.
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

// Returns all calls that a 64-bit or a 32-bit program can make, each once, in the order of the numbers of 64-bit
// programs; then those of 32-bit programs only. From `first_of_all_architectures` on, both have the same numbers, so
// the tables have no such rows.
std::vector<Syscall> make_syscalls(const SystemCalls& calls) {
    const std::span<const SystemCallRow> rows = system_call_rows();
    std::vector<Syscall> all;
    const auto find = [&](std::string_view name) { return std::ranges::find(all, name, &Syscall::name); };
    for (const SystemCallNumber& one : calls.numbers) {
        const auto row = std::ranges::find(rows, std::string_view(one.name), &SystemCallRow::name);
        CHECK(row != rows.end());
        all.push_back(
            {one.number, one.name, one.parameters ? one.parameters : row->parameters, one.text ? one.text : row->text});
    }
    for (const SystemCallRow& row : rows)
        if (row.number >= 0)
            all.push_back({row.number, row.name, row.parameters, row.text});
    for (const SystemCallRow& row : rows)
        if (find(row.name) == all.end() &&
            std::ranges::count(calls.narrow_numbers, std::string_view(row.name), &NarrowCallNumber::name) > 0)
            all.push_back({-1, row.name, row.parameters, row.text});
    const auto add = [&](int64_t number, std::string_view name, std::string_view sources) {
        const auto call = find(name);
        CHECK(call != all.end());
        call->narrow_calls.push_back({number, narrow_arguments(call->parameters, sources)});
    };
    if (!calls.narrow_numbers.empty())
        for (const Syscall& call : all)
            if (call.number >= first_of_all_architectures)
                add(call.number, call.name, "");
    for (const NarrowCallNumber& one : calls.narrow_numbers)
        add(one.number, one.name, one.sources);
    return all;
}
// Points refer to the elements, so these never move.
const std::vector<Syscall>& all_syscalls(const Architecture& architecture) {
    static std::map<const Architecture*, std::vector<Syscall>> made;
    std::vector<Syscall>& all = made[&architecture];
    if (all.empty())
        all = make_syscalls(architecture.system_calls());
    return all;
}

// SystemTap's names for calls that the kernel has renamed.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
    {"ftruncate64", "ftruncate"},
    {"truncate64", "truncate"},
    {"fadvise64_64", "fadvise64"},
};
// Names in SystemTap that never match. Either no program can make the call, or the name stands for what 32-bit programs
// do, and sonde reports these under the call's own name.
constexpr std::string_view absent[] = {
    "bdflush",        "gethostname", "mmap32", "nfsservctl", "pipe32",  "pselect7", "pwrite32", "rt_sigaction32",
    "settimeofday32", "sigaction32", "sysctl", "sysctl32",   "timerfd", "tux",      "ustat32",  "vm86_warning",
};

// The name for each call that this kernel does not implement.
constexpr const char* no_code = "ni_syscall";
// The last number also stands for all greater ones (codegen/bpf/hit_filter.cc). No kernel has so many system calls.
constexpr int beyond_table = 511;

// Maps each call's name to whether its kernel function does anything. For calls that a kernel can be built without,
// there is a weak function that does nothing (COND_SYSCALL in arch/x86/include/asm/syscall_wrapper.h).
using CallFunctions = std::map<std::string, bool, std::less<>>;

CallFunctions find_call_functions(const ProbeEnvironment& env) {
    const std::string_view prefix = env.architecture->system_calls().function_prefix;
    CallFunctions out;
    const Result<std::string>& list = env.kernel_symbols();
    for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);)
        if (symbol->name.starts_with(prefix))
            out[std::string(symbol->name.substr(prefix.size()))] |= symbol->letter == 'T';
    return out;
}

// The same, with a cache on disk. The result is constant for one build of the kernel, and reading the kernel's symbols
// takes a third of the start time of a script whose plan is cached.
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

// Returns all numbers, also those above the kernel's table, for which the kernel has no code. If the list of symbols
// cannot be read, only numbers without a row are returned.
std::vector<Syscall> calls_without_code(const ProbeEnvironment& env) {
    const std::map<std::string, bool, std::less<>> functions = call_functions(env);
    // An old call without a symbol counts as implemented: its function may have another name than the call. For new
    // calls the names are known to agree, so a missing function means that this kernel is older than the call.
    auto is_missing = [&](int number, std::string_view name) {
        auto function = functions.find(name);
        return function == functions.end() ? number >= first_of_all_architectures && !functions.empty()
                                           : !function->second;
    };
    std::vector<Syscall> out;
    const std::vector<Syscall>& all = all_syscalls(*env.architecture);
    const auto unnamed = env.architecture->system_calls().unnamed;
    for (int number = 0; number <= beyond_table; number++) {
        const auto known = std::ranges::find(all, number, &Syscall::number);
        const auto own = std::ranges::find(unnamed, number, &std::pair<int, std::string_view>::first);
        if (known != all.end() ? is_missing(number, known->name)
                               : own == unnamed.end() || !functions.contains(own->second))
            out.push_back({number, no_code, "", ""});
        // Functions for calls that only 32-bit programs can make are not checked.
        const auto narrow = std::ranges::find_if(all, [&](const Syscall& one) {
            return std::ranges::count(one.narrow_calls, number, &plan::NarrowCall::number) > 0;
        });
        const bool calls_others = std::ranges::count(env.architecture->system_calls().outer_calls, number) > 0;
        if (narrow != all.end() ? narrow->number >= 0 && is_missing(narrow->number, narrow->name) : !calls_others)
            out.push_back({-1, no_code, "", "", {{number, 0}}});
    }
    return out;
}

} // namespace

bool is_syscall(std::string_view name, const Architecture& architecture) {
    const std::vector<Syscall>& all = all_syscalls(architecture);
    return std::ranges::find(all, name, &Syscall::name) != all.end();
}

// Adds a point for each matching call. Most of the code is for names that do not match.
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
    const Architecture& architecture = *resolving.env.architecture;
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
        // One program serves many calls and tells them apart by number.
        resolved.sharing.once = fmt::format("{} {} {}", resolved.point.pp, syscall.number,
                                            syscall.narrow_calls.empty() ? 0 : syscall.narrow_calls[0].number);
        points.push_back(std::move(resolved));
    };
    for (const Syscall& syscall : all_syscalls(architecture))
        if (glob_match(wanted, syscall.name))
            add(syscall);
    if (wanted == no_code) {
        if (resolving.env.unimplemented_calls.empty())
            resolving.env.unimplemented_calls = calls_without_code(resolving.env);
        for (const Syscall& syscall : resolving.env.unimplemented_calls) {
            add(syscall);
            points.back().is_unimplemented = true;
        }
    }
    // A probe of a call that no program can make is valid, but is never hit.
    bool is_absent = std::find(std::begin(absent), std::end(absent), wanted) != std::end(absent);
    const bool is_elsewhere = std::ranges::count(system_call_rows(), wanted, &SystemCallRow::name) > 0;
    if (points.empty() && is_elsewhere) {
        DiagBuilder report = resolving.diags.report(
            DiagId::NoMatch, component->range, fmt::format("{} has no system call `{}`", architecture.name(), wanted));
        for (const auto& [name, now] : architecture.system_calls().replaced)
            if (name == wanted)
                report.help(fmt::format("programs make `{}` instead: probe `syscall.{}`", now, now));
    } else if (points.empty() && !is_absent && !wanted.starts_with("compat_")) {
        std::vector<std::string> names;
        for (const Syscall& syscall : all_syscalls(architecture))
            names.emplace_back(syscall.name);
        resolving.diags
            .report(DiagId::NoMatch, component->range, fmt::format("unknown system call `{}`", component->name))
            .suggest(nearest_name(component->name, names));
    }
    return points;
}

} // namespace sonde
