// Users of other tools and languages type their words by habit: `printf "x"`, `str(arg0)`, `interval:s:1`, `true`. The
// parser could only say "syntax error". These tables map a word to our form of the same thing.
//
// There is one table for each place in which a word can stand, because the same word needs different advice: `exit` is
// a function (`exit()`), a component of a point (`.return`), and a statement of C. An entry must be a complete sentence
// or code, because the caller adds it to a message as it is.
//
// Do not add a word that has a meaning in our language, at least not in that place: the advice would be shown for
// correct scripts with another mistake. Code in an entry must parse; users paste it.
#include "frontend/hints/foreign_words.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace sonde::hints {
namespace {

struct Hint {
    std::string_view word, ours;
};

constexpr Hint functions[] = {
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
     "`print_backtrace()` prints the kernel's stack; `backtrace()` is the stack as a key, which `print_syms()` prints"},
    {"ustack", "`print_ubacktrace()` prints the program's stack; `ubacktrace()` is the stack as a key, which "
               "`print_usyms()` prints"},
    {"ksym", "`symname(address)` is the name of the kernel's symbol"},
    {"usym", "`usymname(address)` is the name of a program's symbol"},
    {"ntop", "`ip_ntop(address)` writes an IPv4 address, `format_ipaddr(address, family)` both kinds"},
    {"join", "`cmdline_str()` is the command line of the process"},
    {"strncmp", "`substr(text, 0, n) == \"...\"` compares the first n characters"},
    {"strcontains", "`isinstr(text, part)` is 1 if the text contains the part"},
    {"strftime", "`tz_ctime(gettimeofday_s())` is the time as a string"},
    {"time", "`tz_ctime(gettimeofday_s())` is the time as a string"},
    {"clear", "`delete x` empties an array"},
    {"zero", "`delete x` empties an array"},
    {"printa", "`foreach (key in x-) printf(\"%s %d\\n\", key, x[key])` prints an array"},
    {"trace", "`println(value)` prints a value"},
    {"trunc", "`foreach (key in x- limit 10)` goes over the ten largest"},
    {"reg", "`register(\"NAME\")` reads a register, `u_register(\"NAME\")` the program's"},
    {"signal", "`raise(NUMBER)` sends a signal, with -g"},
    {"cat", "`system(\"cat FILE\")` runs a program that prints it"},
    {"puts", "`println(text)` prints a line"},
    {"echo", "`println(text)` prints a line"},
    {"say", "`println(text)` prints a line"},
    {"strcat", "`a . b` joins strings"},
    {"concat", "`a . b` joins strings"},
    {"strcmp", "`a == b` compares strings"},
    {"strdup", "`a = b` copies a string"},
    {"len", "`strlen(text)` is a string's length; count an array's elements with `foreach`"},
    {"length", "`strlen(text)` is a string's length; count an array's elements with `foreach`"},
    {"atoi", "`strtol(text, 10)` is the number in a string"},
    {"int", "`strtol(text, 10)` is the number in a string"},
    {"now", "`gettimeofday_s()` is the time, with `_ms`, `_us` and `_ns` as well; `tz_ctime(gettimeofday_s())` is the "
            "time as a string"},
    {"gettimeofday", "`gettimeofday_s()` is the time, with `_ms`, `_us` and `_ns` as well; "
                     "`tz_ctime(gettimeofday_s())` is the time as a string"},
    {"sleep", "a handler cannot wait; write a second probe for the later part, `probe timer.s(1)`"},
    {"usleep", "a handler cannot wait; write a second probe for the later part, `probe timer.ms(10)`"},
    {"getpid", "`pid()` is the number of the process"},
    {"gettid", "`tid()` is the number of the thread"},
    {"getuid", "`uid()` is the number of the user"},
    {"getppid", "`ppid()` is the number of the parent"},
    {"getenv", "`env_var(\"NAME\")` is a variable of the environment"},
    {"env", "`env_var(\"NAME\")` is a variable of the environment"},
    {"sizeof", "`@cast_sizeof(\"struct NAME\")` is the size of a type"},
    {"offsetof", "`@offsetof(\"struct NAME\", MEMBER)` is a member's offset"},
    {"container_of", "`@container_of(p, \"struct NAME\", MEMBER)` is the structure that contains the member"},
    {"bt", "`print_ubacktrace()` prints the program's stack, `print_backtrace()` the kernel's"},
    {"stack", "`print_backtrace()` prints the kernel's stack, `print_ubacktrace()` the program's"},
    {"print_hist", "`print(@hist_log(s))` prints a histogram of `s <<< value`"},
    {"elif", "write `else if (...)`"},
    {"elsif", "write `else if (...)`"},
    {"unless", "write `if (!(...))`"},
    {"until", "write `while (!(...))`"},
    {"loop", "loops are `while (...)`, `for (i = 0; i < 3; i++)` and `foreach (key in array)`"},
    {"switch", "the language has no `switch`; write `if (x == 1) ... else if (x == 2) ...`"},
    {"throw", "`error(\"text\")` raises an error, which `try { } catch (text) { }` catches"},
    {"raise_error", "`error(\"text\")` raises an error, which `try { } catch (text) { }` catches"},
    {"quit", "`exit()` ends the session"},
    {"kernel_str", "`kernel_string(p)` reads the kernel's string"},
};

constexpr Hint names[] = {
    {"comm", "execname()"},
    {"execname", "execname()"},
    {"nsecs", "ktime_get_ns()"},
    {"timestamp", "ktime_get_ns()"},
    {"walltimestamp", "gettimeofday_ns()"},
    {"kstack", "backtrace()"},
    {"ustack", "ubacktrace()"},
    {"curtask", "task_current()"},
    {"curthread", "task_current()"},
    {"func", "ppfunc()"},
    {"probefunc", "ppfunc()"},
    {"cgroup", "cgroup_id()"},
    {"rand", "randint(n)"},
    {"NULL", "0"},
    {"null", "0"},
    {"nil", "0"},
    {"None", "0"},
    {"true", "1"},
    {"false", "0"},
    {"True", "1"},
    {"False", "0"},
    {"PID", "pid()"},
    {"TID", "tid()"},
    {"bt", "print_ubacktrace()"},
    {"now", "gettimeofday_s()"},
};

// Names that our parser takes for variables, and that are keywords in other languages.
constexpr Hint words[] = {
    {"int", "a variable needs no type; remove `int`"},
    {"long", "a variable needs no type; remove `long`"},
    {"string", "a variable needs no type; remove `string`"},
    {"struct", "a variable needs no type; read a member with `@cast(pointer, \"struct NAME\")->member`"},
    {"exit", "write a function's arguments in parentheses: `exit()`"},
    {"char", "a variable needs no type; remove `char`"},
    {"unsigned", "a variable needs no type; remove `unsigned`"},
    {"uint64_t", "a variable needs no type; remove `uint64_t`"},
    {"u64", "a variable needs no type; remove `u64`"},
    {"const", "a variable needs no declaration; remove `const`"},
    {"static", "a variable that outlives its handler is a global: `global x`, outside of the probes"},
    {"var", "a variable needs no declaration; remove `var`"},
    {"let", "a variable needs no declaration; remove `let`"},
    {"my", "a variable needs no declaration; remove `my`"},
    {"local", "a variable needs no declaration; remove `local`"},
    {"then", "remove `then`: `if (...) statement`"},
    {"do", "the language has no `do`; write `while (1) { ... if (...) break }`"},
    {"goto", "the language has no `goto`"},
    {"switch", "the language has no `switch`; write `if (x == 1) ... else if (x == 2) ...`"},
    {"throw", "`error(\"text\")` raises an error, which `try { } catch (text) { }` catches"},
    {"pass", "an empty block is `{ }`"},
    {"printf", "write a function's arguments in parentheses: `printf(\"%d\\n\", x)`"},
    {"println", "write a function's arguments in parentheses: `println(x)`"},
    {"print", "write a function's arguments in parentheses: `println(x)`"},
    {"echo", "`println(text)` prints a line"},
};

constexpr Hint points[] = {
    {"tracepoint", "`kernel.trace(\"SYSTEM:NAME\")` is a tracepoint"},
    {"rawtracepoint", "`kernel.trace(\"SYSTEM:NAME\")` is a tracepoint"},
    {"kretprobe", "`kernel.function(\"NAME\").return` is a function's return"},
    {"fentry", "`kernel.function(\"NAME\")` is a function of the kernel"},
    {"fexit", "`kernel.function(\"NAME\").return` is a function's return"},
    {"uprobe", "`process(\"PATH\").function(\"NAME\")` is a function of a program"},
    {"uretprobe", "`process(\"PATH\").function(\"NAME\").return` is a function's return"},
    {"usdt", "`process(\"PATH\").mark(\"NAME\")` is a static mark"},
    {"interval", "`timer.s(1)`, `timer.ms(100)` fire at an interval"},
    {"profile", "`timer.profile.hz(99)` samples all processors"},
    {"software", "`perf.sw.NAME` counts the kernel's events"},
    {"hardware", "`perf.hw.NAME` counts the processor's events"},
    {"watchpoint", "`process(\"PATH\").data(\"NAME\").write` watches memory"},
    {"iter", "`kernel.iter(\"task\")` is hit for each thread"},
    {"every", "`timer.s(1)`, `timer.ms(100)` fire at an interval"},
    {"tick", "`timer.s(1)`, `timer.ms(100)` fire at an interval"},
    {"start", "`begin` runs when the session begins, `process(\"PATH\").begin` when a program begins"},
    {"function",
     "`process(\"PATH\").function(\"NAME\")` is a function of a program, `kernel.function(\"NAME\")` of the kernel"},
    {"pid", "`process(PID)` names a process by its number"},
    {"syscall", "`syscall.openat` is a system call, by its name"},
    {"mark", "`process(\"PATH\").mark(\"NAME\")` is a static mark"},
    {"python", "`process(\"PATH\").mark(\"function__entry\")` is a mark of Python"},
};

// Words after the first one of a point, and our word for each.
constexpr Hint components[] = {
    {"exit", "return"},      {"ret", "return"},
    {"leave", "return"},     {"exits", "return"},
    {"func", "function"},    {"fun", "function"},
    {"fn", "function"},      {"probe", "function"},
    {"symbol", "function"},  {"kprobe", "function"},
    {"uprobe", "function"},  {"line", "statement"},
    {"source", "statement"}, {"address", "statement"},
    {"usdt", "mark"},        {"static", "mark"},
    {"probe_mark", "mark"},  {"lib", "library"},
    {"so", "library"},       {"minutes", "s"},
    {"minute", "s"},         {"min", "s"},
    {"seconds", "s"},        {"second", "s"},
    {"milliseconds", "ms"},  {"start", "begin"},
    {"exec", "begin"},       {"stop", "end"},
    {"variable", "data"},    {"global", "data"},
    {"watch", "data"},       {"event", "trace"},
    {"hertz", "hz"},         {"freq", "hz"},
    {"every", "s"},
};

// Tokens at which other languages' syntax differs. One of the two can be empty, which means any.
struct SyntaxHint {
    std::string_view before, got, help;
};
constexpr std::string_view no_type =
    "a variable needs no type or declaration; write `x = 1`, and a parameter's type after its name, `x:long`";
constexpr SyntaxHint syntax[] = {
    {"", "and", "write `&&`"},
    {"", "or", "write `||`"},
    {"not", "", "write `!`"},
    {"", "eq", "`==` compares strings and numbers"},
    {"", "ne", "`!=` compares strings and numbers"},
    {"", "**", "the language has no operator for powers; multiply, or shift for powers of 2 (`1 << 10`)"},
    {"", "*", "write `$x[0]` for a pointer's target, `$x->member` for a member"},
    {"", "~", "`=~` compares a string with a regular expression"},
    {"<", ">", "write `!=`"},
    {"==", "=", "`==` compares"},
    {"!=", "=", "`!=` compares"},
    {"", "as", "write a loop over an array as `foreach (key in array)`"},
    {"", "then", "remove `then`"},
    {"=", "{", "an array starts empty: `global a`, then `a[key] = value`"},
    {"int", "", no_type},
    {"char", "", no_type},
    {"unsigned", "", no_type},
    {"const", "", no_type},
    {"struct", "", "write a cast as `@cast(pointer, \"struct NAME\")->member`"},
};

// Commands of other tracers, with the second word for those that have subcommands.
struct CommandHint {
    std::string_view word, next, ours;
};
constexpr std::string_view samples =
    "`sonde profile -c COMMAND` samples where processor time goes, `--flame FILE.svg` draws it";
constexpr std::string_view counts =
    "`sonde syscount -c COMMAND` counts system calls; a script reads the kernel's counters with `perf.sw.*`";
constexpr std::string_view calls =
    "`sonde trace PROGRAM:FUNCTION` prints calls of a function, without stopping the program";
constexpr CommandHint commands[] = {
    {"record", "", samples},
    {"report", "", "`sonde profile -c COMMAND` samples where processor time goes, and prints it at the end"},
    {"stat", "", counts},
    {"probe", "", "`sonde trace PROGRAM:FUNCTION` prints calls of a function"},
    {"break", "", calls},
    {"run", "", "`-c COMMAND` runs a command under a script or a tool"},
    {"attach", "", "`-x PID` limits a script or a tool to a process"},
    {"list", "", "`sonde -l 'PATTERN'` lists probe points"},
    {"ltrace", "", "`sonde -e 'probe process.plt { println($$name) }' -c COMMAND` prints calls of libraries"},
    {"bpftrace", "", "pass a bpftrace script after -e; sonde prints its translation"},
    {"dtrace", "", "pass a DTrace script after -e; sonde prints its translation"},
    {"stap", "", "sonde takes the same options and scripts; remove `stap`"},
    {"staprun", "", "run a saved plan by its name alone: `sonde NAME.sonde`"},
    {"gdb", "", calls},
    {"lldb", "", calls},
    {"perf", "record", samples},
    {"perf", "top", samples},
    {"perf", "report", samples},
    {"perf", "script", samples},
    {"perf", "stat", counts},
    {"perf", "trace", "`sonde strace -c COMMAND` prints system calls with their arguments and results"},
    {"perf", "list", "`sonde -l '*'` lists the families of probe points, `sonde -l WORD` searches them"},
    {"perf", "lock", "`sonde lockstat -c COMMAND` shows which mutexes threads wait for"},
    {"perf", "sched", "`sonde runqlat` shows how long threads wait for a processor, `sonde offcpu` their other waits"},
    {"perf", "ftrace", "`sonde trace FUNCTION` prints calls, `sonde funclatency FUNCTION` how long they take"},
    {"perf", "", "`sonde --from=perf -e 'perf probe ...'` translates a probe, `sonde tools` lists the tools"},
    {"trace-cmd", "",
     "`sonde trace 'kernel.trace(\"SYSTEM:NAME\")'` prints a tracepoint's hits, `sonde trace FUNCTION` calls"},
    {"ftrace", "", "`sonde trace FUNCTION` prints calls, `sonde funclatency FUNCTION` how long they take"},
    // Names without a tool of ours: a script.
    {"strace", "", "`sonde strace -c COMMAND` prints system calls, `sonde syscount -c COMMAND` counts them"},
    {"sonde", "", "pass only the text in quotes after its -e"},
    {"trace", "", "`sonde trace POINT` prints calls and hits"},
    {"echo", "", "pass a line of kprobe_events or uprobe_events by itself; sonde prints its translation"},
};
constexpr std::string_view tracers[] = {"bpftrace", "dtrace", "stap",      "staprun", "gdb",
                                        "lldb",     "ltrace", "trace-cmd", "ftrace"};

} // namespace

// The first matching row counts, so a row with a second word must come before the general row of the same command.
std::string command_hint(std::string_view name, std::string_view next) {
    const auto found = std::ranges::find_if(
        commands, [&](const CommandHint& one) { return one.word == name && (one.next.empty() || one.next == next); });
    return found == std::end(commands) ? "" : std::string(found->ours);
}

bool is_tracer(std::string_view name) { return std::ranges::find(tracers, name) != std::end(tracers); }

std::string point_hint(std::string_view first) {
    const auto found = std::ranges::find(points, first, &Hint::word);
    return found == std::end(points) ? "" : std::string(found->ours);
}

std::string function_hint(std::string_view name) {
    const auto found = std::ranges::find(functions, name, &Hint::word);
    return found == std::end(functions) ? "" : std::string(found->ours);
}

std::string name_hint(std::string_view name) {
    const bool argument = name.size() == 4 && name.starts_with("arg") && name[3] >= '0' && name[3] <= '9';
    if (argument)
        return fmt::format("`long_arg({})` is the function's argument by position, `$NAME` by name", name[3] - '0' + 1);
    if (name == "retval")
        return "`$return` is the result in a .return probe, `retval` a system call's result";
    if (name == "args")
        return "`$NAME` is the argument of that name; `sonde -L POINT` lists them";
    if (const auto word = std::ranges::find(words, name, &Hint::word); word != std::end(words))
        return std::string(word->ours);
    const auto found = std::ranges::find(names, name, &Hint::word);
    return found == std::end(names) ? "" : fmt::format("write `{}`", found->ours);
}

std::string statement_hint(std::string_view name) {
    const auto found = std::ranges::find(words, name, &Hint::word);
    return found == std::end(words) ? "" : std::string(found->ours);
}

std::string argument_hint(std::string_view name) {
    if (name == "timer")
        return "`timer.s(1)`, `timer.ms(100)` fire at an interval";
    if (name == "profile")
        return "`timer.profile.hz(99)` samples each processor 99 times a second";
    return "";
}

std::string component_hint(std::string_view name, const std::vector<std::string>& allowed) {
    const auto found = std::ranges::find(components, name, &Hint::word);
    return found == std::end(components) || std::ranges::find(allowed, found->ours) == allowed.end()
               ? ""
               : std::string(found->ours);
}

// Rows with two words come before rows with one: the first match counts.
std::string syntax_hint(std::string_view before, std::string_view got) {
    const auto found = std::ranges::find_if(syntax, [&](const SyntaxHint& one) {
        return (one.before.empty() || one.before == before) && (one.got.empty() || one.got == got);
    });
    return found == std::end(syntax) ? "" : std::string(found->help);
}

std::string operator_hint(std::string_view name, bool called) {
    name.remove_prefix(name.starts_with("@"));
    if (name == "hist")
        return "`@hist_log(s)` and `@hist_linear(s, LOW, HIGH, STEP)` are histograms of a statistic";
    if (name == "mean" || name == "average" || name == "median")
        return "`@avg(s)` is a statistic's average, `@percentile(s, 50)` its median";
    const std::string_view percent = name.substr(std::min<size_t>(name.size(), 1));
    if (name.starts_with('p') && !percent.empty() && percent.find_first_not_of("0123456789") == std::string_view::npos)
        return fmt::format("`@percentile(s, {})` is that percentile of a statistic", percent);
    if (name == "quantile" || name == "percentiles" || name == "pct")
        return "`@percentile(s, 99)` is a percentile of a statistic";
    if (called)
        return "";
    if (name.empty())
        return "an array is a global without `@` here: `global n`, then `n[key]++`";
    return fmt::format(
        "a variable of the whole script is a global without `@` here: `global {0}`, then `{0}++` or `{0}[key] = value`",
        name);
}

} // namespace sonde::hints
