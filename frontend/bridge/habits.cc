#include "frontend/bridge/habits.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace sonde::bridge {
namespace {

struct Habit {
    std::string_view word, ours;
};

constexpr Habit functions[] = {
    {"str", "`user_string(p)` reads a program's string, `kernel_string(p)` the kernel's"},
    {"copyinstr", "`user_string(p)` reads a program's string"},
    {"copyin", "`user_int32(p)` and its like read a program's memory"},
    {"stringof", "`kernel_string(p)` reads the kernel's string"},
    {"count", "a count is a global: `global n`, then `n++` or `n[key]++`"},
    {"sum", "a sum is a global: `global s`, then `s <<< value`, and `@sum(s)` is the sum"},
    {"avg", "a statistic is a global: `global s`, then `s <<< value`, and `@avg(s)` is the average"},
    {"hist", "a histogram is of a global: `global s`, then `s <<< value`, and `print(@hist_log(s))` prints it"},
    {"lhist",
     "a histogram is of a global: `global s`, then `s <<< value`, and `print(@hist_linear(s, 0, 100, 10))` prints it"},
    {"quantize", "a histogram is of a global: `global s`, then `s <<< value`, and `print(@hist_log(s))` prints it"},
    {"lquantize",
     "a histogram is of a global: `global s`, then `s <<< value`, and `print(@hist_linear(s, 0, 100, 10))` prints it"},
    {"stats", "a statistic is a global: `global s`, then `s <<< value`, and it is printed at the end"},
    {"kstack",
     "`print_backtrace()` prints the kernel's stack; `backtrace()` is it as a key, which `print_syms()` prints"},
    {"ustack",
     "`print_ubacktrace()` prints the program's stack; `ubacktrace()` is it as a key, which `print_usyms()` prints"},
    {"ksym", "`symname(address)` is the name of the kernel's symbol"},
    {"usym", "`usymname(address)` is the name of a program's symbol"},
    {"ntop", "`ip_ntop(address)` writes an IPv4 address, `format_ipaddr(address, family)` both kinds"},
    {"join", "`cmdline_str()` is the command line of the process"},
    {"strncmp", "`substr(text, 0, n) == \"...\"` compares the first n characters"},
    {"strcontains", "`isinstr(text, part)` tells whether a text has a part"},
    {"strftime", "`tz_ctime(gettimeofday_s())` is the time as a text"},
    {"time", "`tz_ctime(gettimeofday_s())` is the time as a text"},
    {"clear", "`delete x` empties an array"},
    {"zero", "`delete x` empties an array"},
    {"printa", "`foreach (key in x-) printf(\"%s %d\\n\", key, x[key])` prints an array"},
    {"trace", "`println(value)` prints a value"},
    {"trunc", "`foreach (key in x- limit 10)` goes over the ten largest"},
    {"reg", "`register(\"NAME\")` reads a register, `u_register(\"NAME\")` the program's"},
    {"signal", "`raise(NUMBER)` sends a signal, with -g"},
    {"cat", "`system(\"cat FILE\")` runs a program that prints it"},
};

constexpr Habit names[] = {
    {"comm", "execname()"},
    {"execname", "execname()"},
    {"nsecs", "ktime_get_ns()"},
    {"timestamp", "ktime_get_ns()"},
    {"walltimestamp", "gettimeofday_ns()"},
    {"retval", "$return"},
    {"kstack", "backtrace()"},
    {"ustack", "ubacktrace()"},
    {"curtask", "task_current()"},
    {"curthread", "task_current()"},
    {"func", "ppfunc()"},
    {"probefunc", "ppfunc()"},
    {"cgroup", "cgroup_id()"},
    {"rand", "randint(n)"},
    {"NULL", "0"},
};

constexpr Habit points[] = {
    {"tracepoint", "`kernel.trace(\"SYSTEM:NAME\")` is a tracepoint"},
    {"rawtracepoint", "`kernel.trace(\"SYSTEM:NAME\")` is a tracepoint"},
    {"kretprobe", "`kernel.function(\"NAME\").return` is a function's return"},
    {"fentry", "`kernel.function(\"NAME\")` is a function of the kernel"},
    {"fexit", "`kernel.function(\"NAME\").return` is a function's return"},
    {"uprobe", "`process(\"PATH\").function(\"NAME\")` is a function of a program"},
    {"uretprobe", "`process(\"PATH\").function(\"NAME\").return` is a function's return"},
    {"usdt", "`process(\"PATH\").mark(\"NAME\")` is a static mark"},
    {"interval", "`timer.s(1)`, `timer.ms(100)` go off by time"},
    {"profile", "`timer.profile.hz(99)` samples all processors"},
    {"software", "`perf.sw.NAME` counts the kernel's events"},
    {"hardware", "`perf.hw.NAME` counts the processor's events"},
    {"watchpoint", "`process(\"PATH\").data(\"NAME\").write` watches memory"},
    {"iter", "`kernel.iter(\"task\")` is hit for each thread"},
};

} // namespace

std::string point_habit(std::string_view first) {
    const auto found = std::ranges::find(points, first, &Habit::word);
    return found == std::end(points) ? "" : std::string(found->ours);
}

std::string function_habit(std::string_view name) {
    const auto found = std::ranges::find(functions, name, &Habit::word);
    return found == std::end(functions) ? "" : std::string(found->ours);
}

std::string name_habit(std::string_view name) {
    const bool argument = name.size() == 4 && name.starts_with("arg") && name[3] >= '0' && name[3] <= '9';
    if (argument)
        return fmt::format("`long_arg({})` is the function's argument of that place, and `$NAME` the one of that name",
                           name[3] - '0' + 1);
    if (name == "args")
        return "`$NAME` is the argument of that name; `sonde -L POINT` lists them";
    const auto found = std::ranges::find(names, name, &Habit::word);
    return found == std::end(names) ? "" : fmt::format("`{}` is that here", found->ours);
}

std::string operator_habit(std::string_view name) {
    name.remove_prefix(name.starts_with("@"));
    if (name.empty())
        return "an array is a global without `@` here: `global n`, then `n[key]++`";
    return fmt::format(
        "a variable of the whole script is a global without `@` here: `global {0}`, then `{0}++` or `{0}[key] = value`",
        name);
}

} // namespace sonde::bridge
