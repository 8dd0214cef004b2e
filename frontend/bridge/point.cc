// Tables of probes. bpftrace: the provider before the first colon. DTrace: provider, module, function, name.
//
//     kprobe:vfs_read           kernel.function("vfs_read")
//     syscall::read:entry       syscall.read
//     tick-1s                   timer.s(1)
//
// In DTrace, fields can be missing from the left (`read:entry`) and be empty, which means any value. In bpftrace the
// number of fields depends on the provider, and names of C++ contain colons themselves.
//
// A probe without a counterpart gives a point with a `gap`: the reason, and what to use instead.
#include "frontend/bridge/point.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sonde::bridge {
namespace {

struct Provider {
    std::string_view name, short_name;
    PointKind kind;
};
constexpr std::array providers = {
    Provider{"kprobe", "k", PointKind::Entry},       Provider{"kretprobe", "kr", PointKind::Return},
    Provider{"fentry", "f", PointKind::TypedEntry},  Provider{"kfunc", "", PointKind::TypedEntry},
    Provider{"fexit", "fr", PointKind::TypedReturn}, Provider{"kretfunc", "", PointKind::TypedReturn},
    Provider{"uprobe", "u", PointKind::Entry},       Provider{"uretprobe", "ur", PointKind::Return},
};

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> out(1);
    bool quotes = false;
    for (size_t i = 0; i < text.size(); i++) {
        quotes ^= text[i] == '"';
        // In bpftrace, C++ names with `::` are quoted.
        if (text[i] == at && !quotes)
            out.emplace_back();
        else if (text[i] != '"')
            out.back() += text[i];
    }
    return out;
}

// 1000, 1_000, 1e3
std::optional<int64_t> number_of(std::string text) {
    std::erase(text, '_');
    if (const size_t e = text.find('e');
        e != std::string::npos && e > 0 && text.size() - e == 2 && text[e + 1] >= '0' && text[e + 1] <= '9')
        text = text.substr(0, e) + std::string(static_cast<size_t>(text[e + 1] - '0'), '0');
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
        return {};
    return std::stoll(text);
}

// A point that our language does not have.
OurPoint gap(std::string why) {
    OurPoint point;
    point.gap = std::move(why);
    return point;
}

bool is_return(PointKind kind) { return kind == PointKind::Return || kind == PointKind::TypedReturn; }

// kernel.function("f"), module("m").function("f"), .return
OurPoint kernel_point(PointKind kind, const std::string& module, const std::string& function) {
    if (function.empty())
        return gap("the function's name is missing");
    if (function.find('+') != std::string::npos || function.starts_with("0x"))
        return gap("name a place inside of a kernel function by its line: `kernel.statement(\"NAME@FILE:LINE\")`");
    OurPoint point;
    point.kind = kind;
    const bool in_kernel = module.empty() || module == "vmlinux" || module == "kernel" || module == "genunix";
    point.text = fmt::format("{}.function({}){}", in_kernel ? "kernel" : fmt::format("module({})", quoted(module)),
                             quoted(function), is_return(kind) ? ".return" : "");
    return point;
}

// A function of a program, or an address in it. `process` is the text of the first component.
OurPoint program_point(PointKind kind, const std::string& process, const std::string& function) {
    if (function.empty())
        return gap("the function's name is missing");
    if (function.find('+') != std::string::npos && function.find("operator") == std::string::npos)
        return gap("name a place inside of a function by its line, `.statement(\"NAME@FILE:LINE\")`, or its address, "
                   "`.statement(0xADDRESS)`");
    OurPoint point;
    point.kind = kind;
    point.in_program = true;
    const bool address = function.starts_with("0x");
    point.text = fmt::format("{}.{}({}){}", process, address ? "statement" : "function",
                             address ? function : quoted(function), is_return(kind) ? ".return" : "");
    return point;
}

OurPoint syscall_point(const std::string& name, bool at_return) {
    OurPoint point;
    point.in_program = true;
    if (name.find_first_of("?[") != std::string::npos)
        return gap("a pattern of system calls can contain only `*`: `syscall.open*`");
    if (name == "*" || name.empty()) {
        point.kind = at_return ? PointKind::AnySyscallReturn : PointKind::AnySyscallEntry;
        point.text = at_return ? "syscall_any.return" : "syscall_any";
        return point;
    }
    // The names of the kernel's functions can differ from those of the calls.
    constexpr std::pair<std::string_view, std::string_view> renamed[] = {
        {"newstat", "stat"},   {"newfstat", "fstat"},      {"newlstat", "lstat"},
        {"newuname", "uname"}, {"sendfile64", "sendfile"}, {"exece", "execve"}};
    const auto* other =
        std::ranges::find(renamed, std::string_view(name), &std::pair<std::string_view, std::string_view>::first);
    point.kind = at_return ? PointKind::SyscallReturn : PointKind::SyscallEntry;
    point.text = fmt::format("syscall.{}{}", other != std::end(renamed) ? std::string(other->second) : name,
                             at_return ? ".return" : "");
    return point;
}

// A timer by a unit of time, or by `hz`, the number of times per second. `on_all`: it samples all processors. Our
// points for samples have a frequency, so a period must divide one second. `profile:ms:10` becomes 100 Hz, but
// `profile:ms:3` has no counterpart.
OurPoint timer_point(const std::string& unit, const std::string& count, bool on_all) {
    const std::optional<int64_t> number = number_of(count);
    if (!number || *number == 0)
        return gap(fmt::format("`{}` is not a number above 0", count));
    OurPoint point;
    if (!on_all) {
        if (unit != "hz" && unit != "s" && unit != "ms" && unit != "us" && unit != "ns")
            return gap(fmt::format("`{}` is not a unit of time", unit));
        point.text = fmt::format("timer.{}({})", unit, *number);
        return point;
    }
    point.kind = PointKind::Sample;
    int64_t rate = *number;
    for (auto [name, per_second] :
         {std::pair{"s", int64_t{1}}, {"ms", int64_t{1000}}, {"us", int64_t{1000000}}, {"ns", int64_t{1000000000}}})
        if (unit == name) {
            if (*number > per_second || per_second % *number)
                return gap("a sampling frequency is a whole number of times a second: `timer.profile.freq(HZ)`");
            rate = per_second / *number;
        }
    point.text = fmt::format("timer.profile.freq({})", rate);
    return point;
}

// `software:page-faults:100` becomes `perf.sw.page_faults.sample(100)`.
OurPoint counter_point(const std::vector<std::string>& parts, bool hardware) {
    std::string name = parts.size() > 1 ? parts[1] : "";
    std::ranges::replace(name, '-', '_');
    constexpr std::pair<std::string_view, std::string_view> aliases[] = {{"cpu", "cpu_clock"},
                                                                         {"cs", "context_switches"},
                                                                         {"faults", "page_faults"},
                                                                         {"major_faults", "page_faults_maj"},
                                                                         {"minor_faults", "page_faults_min"},
                                                                         {"cycles", "cpu_cycles"},
                                                                         {"branches", "branch_instructions"},
                                                                         {"alignment_faults", "alignment_faults"}};
    for (auto [other, ours] : aliases)
        if (name == other)
            name = ours;
    if (name.empty())
        return gap("the counter's name is missing");
    OurPoint point;
    point.kind = PointKind::Sample;
    point.text = fmt::format("perf.{}.{}", hardware ? "hw" : "sw", name);
    if (parts.size() > 2 && !parts[2].empty()) {
        // The period of a clock can have a unit: `cpu-clock:10ms`.
        const size_t digits = std::min(parts[2].find_first_not_of("0123456789_"), parts[2].size());
        const std::string unit = parts[2].substr(digits);
        std::optional<int64_t> count = number_of(parts[2]);
        for (auto [theirs, nanoseconds] :
             {std::pair{"ns", int64_t{1}}, {"us", int64_t{1000}}, {"ms", int64_t{1000000}}, {"s", int64_t{1000000000}}})
            if (unit == theirs && name.ends_with("clock") && digits < 9)
                if (count = number_of(parts[2].substr(0, digits)); count)
                    *count *= nanoseconds;
        if (!count)
            return gap(fmt::format("`{}` is not a number", parts[2]));
        point.text += fmt::format(".sample({})", *count);
    }
    return point;
}

// usdt:PATH:PROVIDER:NAME, usdt:PATH:NAME or usdt:PATH.
OurPoint mark_point(const std::vector<std::string>& parts, const BridgeOptions& options) {
    OurPoint point;
    point.kind = PointKind::Mark;
    point.in_program = true;
    if (parts.size() == 4)
        point.text =
            fmt::format("{}.provider({}).mark({})", process_of(parts[1], options), quoted(parts[2]), quoted(parts[3]));
    else if (parts.size() == 3 || parts.size() == 2)
        point.text =
            fmt::format("{}.mark({})", process_of(parts[1], options), quoted(parts.size() == 3 ? parts[2] : "*"));
    else
        return gap("write a mark as `usdt:PATH:PROVIDER:NAME`");
    return point;
}

// tracepoint:SYSTEM:NAME. The tracepoints of system calls become our points for system calls, whose arguments have
// names.
OurPoint tracepoint_point(const std::vector<std::string>& parts) {
    if (parts.size() != 3)
        return gap("write a tracepoint as `tracepoint:SYSTEM:NAME`");
    OurPoint point;
    if (parts[1] == "syscalls" && parts[2].starts_with("sys_enter_"))
        return syscall_point(parts[2].substr(10), false);
    if (parts[1] == "syscalls" && parts[2].starts_with("sys_exit_"))
        return syscall_point(parts[2].substr(9), true);
    if (parts[1] == "raw_syscalls" && (parts[2] == "sys_enter" || parts[2] == "sys_exit"))
        return syscall_point("*", parts[2] == "sys_exit");
    point.kind = PointKind::Tracepoint;
    point.tracepoint = parts[2];
    point.text = fmt::format("kernel.trace({})", quoted(parts[1] + ":" + parts[2]));
    return point;
}

// `watchpoint:ADDRESS:8:w` becomes `process.data(ADDRESS).length(8).write`. An address in the upper half is the
// kernel's.
OurPoint watchpoint(const std::vector<std::string>& parts) {
    if (parts.size() != 4 || parts[1].find('+') != std::string::npos)
        return gap("a watchpoint needs an address or a variable: `process(\"PATH\").data(\"NAME\").write`");
    OurPoint point;
    const bool kernel = parts[1].starts_with("0xffff");
    if (parts[3] != "w" && parts[3] != "rw" && parts[3] != "wr")
        return gap("a watchpoint detects writes (`w`) or reads and writes (`rw`)");
    point.kind = PointKind::Entry;
    point.in_program = !kernel;
    point.text = fmt::format("{}.data({}).length({}).{}", kernel ? "kernel" : "process", parts[1], parts[2],
                             parts[3] == "w" ? "write" : "rw");
    return point;
}

// Names of DTrace's providers for events, as opposed to places in code.
struct NamedEvent {
    std::string_view provider, name, ours;
};
constexpr std::array events = {
    NamedEvent{"proc", "exec-success", "kprocess.exec_complete"},
    NamedEvent{"proc", "exec", "kprocess.exec"},
    NamedEvent{"proc", "exit", "kprocess.exit"},
    NamedEvent{"proc", "create", "kprocess.create"},
    NamedEvent{"proc", "start", "kprocess.start"},
    NamedEvent{"proc", "signal-send", "signal.send"},
    NamedEvent{"sched", "on-cpu", "scheduler.cpu_on"},
    NamedEvent{"sched", "off-cpu", "scheduler.cpu_off"},
    NamedEvent{"sched", "wakeup", "scheduler.wakeup"},
    NamedEvent{"io", "start", "ioblock.request"},
    NamedEvent{"io", "done", "ioblock.end"},
    NamedEvent{"tcp", "send", "tcp.sendmsg"},
    NamedEvent{"tcp", "receive", "tcp.receive"},
    NamedEvent{"vminfo", "as_fault", "perf.sw.page_faults.sample(1)"},
    NamedEvent{"vminfo", "maj_fault", "perf.sw.page_faults_maj.sample(1)"},
    NamedEvent{"sysinfo", "pswitch", "scheduler.ctxswitch"},
};

// profile-97, tick-1s, tick-100ms
OurPoint dtrace_timer(const std::string& name) {
    const size_t dash = name.find('-');
    const bool on_all = name.starts_with("profile-");
    size_t digits = dash + 1;
    while (digits < name.size() && isdigit(static_cast<unsigned char>(name[digits])))
        digits++;
    std::string unit = name.substr(digits);
    constexpr std::pair<std::string_view, std::string_view> units[] = {
        {"", "hz"},     {"hz", "hz"}, {"s", "s"},     {"sec", "s"}, {"ms", "ms"},
        {"msec", "ms"}, {"us", "us"}, {"usec", "us"}, {"ns", "ns"}, {"nsec", "ns"}};
    for (auto [theirs, ours] : units)
        if (unit == theirs)
            return timer_point(std::string(ours), name.substr(dash + 1, digits - dash - 1), on_all);
    const std::optional<int64_t> number = number_of(name.substr(dash + 1, digits - dash - 1));
    for (auto [theirs, seconds] :
         {std::pair{"m", 60}, {"min", 60}, {"h", 3600}, {"hour", 3600}, {"d", 86400}, {"day", 86400}})
        if (unit == theirs && number && *number < 100000)
            return timer_point("s", std::to_string(*number * seconds), on_all);
    return gap(fmt::format("`{}` is not a unit of time", unit));
}

// pid$target:libc:malloc:entry
OurPoint pid_point(const std::vector<std::string>& parts, const BridgeOptions& options) {
    const std::string who = parts[0].substr(3);
    const std::string& where = parts[3];
    const std::string function = parts[2].empty() ? "*" : parts[2]; // an empty field means all
    if (where != "entry" && where != "return")
        return gap("name a place inside of a function by its line: `.statement(\"NAME@FILE:LINE\")`");
    // The target's own program, a file by its name, or a process by its number.
    std::string process = who == "$target" ? "process" : fmt::format("process({})", who);
    std::string library = parts[1];
    if (!library.empty() && library != "a.out") {
        std::string path = library;
        if (library.find_first_of("*?") == std::string::npos && options.find_path)
            for (const std::string& name : {library, library.substr(0, library.find(".so"))})
                if (std::string found = options.find_path(name); !found.empty()) {
                    path = found;
                    break;
                }
        if (path == options.program)
            return program_point(where == "return" ? PointKind::Return : PointKind::Entry, process, function);
        process += fmt::format(".library({})", quoted(path));
    }
    return program_point(where == "return" ? PointKind::Return : PointKind::Entry, process, function);
}

} // namespace

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (char c : text)
        out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return out + "\"";
}

std::string process_of(const std::string& path, const BridgeOptions& options) {
    if (path.empty())
        return "process";
    if (number_of(path))
        return fmt::format("process({})", path);
    if (path.find('/') == std::string::npos && path.find_first_of("*?") == std::string::npos && options.find_path)
        if (std::string found = options.find_path(path); !found.empty())
            return fmt::format("process({})", quoted(found));
    return fmt::format("process({})", quoted(path));
}

OurPoint point_of_bpftrace(const std::string& spec, const BridgeOptions& options) {
    std::vector<std::string> parts = split(spec, ':');
    const std::string& provider = parts[0];
    const bool in_program = provider == "uprobe" || provider == "uretprobe" || provider == "u" || provider == "ur";
    OurPoint point;
    if (parts.size() == 1) {
        if (provider == "BEGIN" || provider == "begin")
            point.text = "begin";
        else if (provider == "END" || provider == "end")
            point.text = "end";
        else
            return gap(fmt::format("`{}` is not a probe of bpftrace", spec));
        return point;
    }
    // C++ names contain colons.
    if (in_program && parts.size() > 3) {
        for (size_t i = 3; i < parts.size(); i++)
            parts[2] += ":" + parts[i];
        parts.resize(3);
        if (parts[2].starts_with("cpp:"))
            parts[2].erase(0, 4);
    }
    for (const Provider& known : providers) {
        if (provider != known.name && (known.short_name.empty() || provider != known.short_name))
            continue;
        if (in_program && parts.size() == 2)
            return program_point(known.kind, process_of(parts[1], options), "*");
        if (in_program)
            return parts.size() == 3 ? program_point(known.kind, process_of(parts[1], options), parts[2])
                                     : gap("write a program's function as `uprobe:PATH:FUNCTION`");
        return parts.size() == 3 ? kernel_point(known.kind, parts[1], parts[2])
                                 : kernel_point(known.kind, "", parts[1]);
    }
    if (provider == "tracepoint" || provider == "t")
        return tracepoint_point(parts);
    if (provider == "rawtracepoint" || provider == "rt") {
        point.kind = PointKind::RawTracepoint;
        point.text = fmt::format("kernel.trace({})", quoted(parts.size() < 3        ? parts[1]
                                                            : parts[1] == "vmlinux" ? parts[2]
                                                                                    : parts[1] + ":" + parts[2]));
        return point;
    }
    if (provider == "usdt" || provider == "U")
        return mark_point(parts, options);
    const bool on_all = provider == "profile" || provider == "p";
    if (on_all || provider == "interval" || provider == "i") {
        if (parts.size() == 3)
            return timer_point(parts[1], parts[2], on_all);
        // interval:1s
        size_t digits = parts[1].find_first_not_of("0123456789");
        return timer_point(digits == std::string::npos ? "us" : parts[1].substr(digits), parts[1].substr(0, digits),
                           on_all);
    }
    if (provider == "software" || provider == "s" || provider == "hardware" || provider == "h")
        return counter_point(parts, provider[0] == 'h');
    if (provider == "watchpoint" || provider == "w" || provider == "asyncwatchpoint" || provider == "aw")
        return watchpoint(parts);
    if (provider == "iter" || provider == "it") {
        if (parts.size() > 2)
            return gap("an iterator visits all objects of its kind");
        point.kind = PointKind::Iterator;
        point.text = fmt::format("kernel.iter({})", quoted(parts[1]));
        return point;
    }
    if (provider == "self")
        return gap("sonde has no probe for signals to itself; `kill -INT` ends the session, and `probe end` runs");
    return gap(fmt::format("sonde has no `{}` probes", provider));
}

namespace {
OurPoint whole_point_of_dtrace(const std::string& spec, const BridgeOptions& options);
}

OurPoint point_of_dtrace(const std::string& spec, const BridgeOptions& options) {
    // Without a probe's name, a function stands for all of its probes: its entry and its return. The statements are
    // translated once, as at the entry.
    const bool has_both = spec.starts_with("syscall:") || spec.starts_with("fbt:") || spec.starts_with("pid");
    if (!has_both || std::ranges::count(spec, ':') != 3 || !spec.ends_with(':'))
        return whole_point_of_dtrace(spec, options);
    OurPoint entry = whole_point_of_dtrace(spec + "entry", options);
    const OurPoint at_return = whole_point_of_dtrace(spec + "return", options);
    if (entry.gap.empty())
        entry.text += ", " + at_return.text;
    return entry;
}

namespace {

OurPoint whole_point_of_dtrace(const std::string& spec, const BridgeOptions& options) {
    std::vector<std::string> parts = split(spec, ':');
    OurPoint point;
    // Missing fields are the first ones.
    while (parts.size() < 4)
        parts.insert(parts.begin(), "");
    if (parts.size() > 4)
        return gap("write a probe as `PROVIDER:MODULE:FUNCTION:NAME`");
    const std::string &provider = parts[0], &name = parts[3];
    if (name == "BEGIN" || name == "END" || name == "ERROR") {
        point.text = name == "BEGIN" ? "begin" : name == "END" ? "end" : "error";
        return point;
    }
    if (name.starts_with("tick-") || name.starts_with("profile-"))
        return dtrace_timer(name);
    if (provider == "syscall" && (name == "entry" || name == "return"))
        return syscall_point(parts[2], name == "return");
    if (provider.starts_with("pid") && provider.size() > 3 &&
        (provider[3] == '$' || isdigit(static_cast<unsigned char>(provider[3]))))
        return pid_point(parts, options);
    if (provider == "fbt" || provider == "rawfbt") {
        if (name != "entry" && name != "return")
            return gap("`fbt` has only `entry` and `return`");
        return kernel_point(name == "return" ? PointKind::TypedReturn : PointKind::TypedEntry, parts[1],
                            parts[2].empty() ? "*" : parts[2]);
    }
    if (provider == "sdt" || provider == "rawtp") {
        point.kind = PointKind::RawTracepoint;
        std::string tracepoint = name;
        std::ranges::replace(tracepoint, '-', '_');
        point.text =
            fmt::format("kernel.trace({})", quoted(parts[1].empty() ? tracepoint : parts[1] + ":" + tracepoint));
        return point;
    }
    for (const NamedEvent& event : events)
        if (provider == event.provider && name == event.name) {
            point.kind = PointKind::Tracepoint;
            point.text = event.ours;
            return point;
        }
    if (provider == "lockstat" || provider.starts_with("plockstat"))
        return gap("use a tool to trace waiting for locks: `sonde lockstat -c COMMAND`");
    // A static mark in a process: `python$target:::function-entry` or `python1234:::function-entry`. DTrace writes a
    // `-` for each `__` of a mark's name.
    size_t digits = provider.size();
    while (digits > 0 && isdigit(static_cast<unsigned char>(provider[digits - 1])))
        digits--;
    const size_t dollar = provider.find("$target");
    if (dollar != std::string::npos || (digits > 0 && digits < provider.size()) || provider.ends_with('*')) {
        const bool by_number = dollar == std::string::npos && !provider.ends_with('*');
        std::string mark = name;
        for (size_t dash = 0; (dash = mark.find('-', dash)) != std::string::npos; dash += 2)
            mark.replace(dash, 1, "__");
        point.kind = PointKind::Mark;
        point.in_program = true;
        point.text = fmt::format("{}.provider({}).mark({})",
                                 by_number ? fmt::format("process({})", provider.substr(digits)) : "process",
                                 quoted(provider.substr(0, dollar != std::string::npos ? dollar
                                                           : by_number                 ? digits
                                                                                       : provider.size() - 1)),
                                 quoted(mark));
        return point;
    }
    return gap(fmt::format("sonde has no provider `{}` with a probe `{}`", provider, name));
}

} // namespace

} // namespace sonde::bridge
