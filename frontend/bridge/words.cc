// A word like `arg0` or `probe` has no fixed translation: it depends on the kind of the probe point. At the entry of a
// function, `arg0` is `long_arg(1)`; in a static mark it is `$arg1`; at a return it is lost.
//
// A wrong translation would run and print wrong values. So a word without an exact counterpart becomes a gap with the
// reason, even if something similar exists.
#include "frontend/bridge/words.h"
#include "frontend/hints/tracepoint_fields.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

namespace sonde::bridge {
namespace {

struct Row {
    std::string_view there, ours;
};
constexpr Row both[] = {
    {"pid", "pid()"}, {"tid", "tid()"},   {"uid", "uid()"},           {"gid", "gid()"},
    {"cpu", "cpu()"}, {"ppid", "ppid()"}, {"execname", "execname()"}, {"NULL", "0"},
};
constexpr Row bpftrace_words[] = {
    {"comm", "execname()"},
    {"nsecs", "ktime_get_ns()"},
    {"curtask", "task_current()"},
    {"func", "ppfunc()"},
    {"probe", "pn()"},
    {"kstack", "backtrace()"},
    {"ustack", "ubacktrace()"},
    {"cgroup", "cgroup_id()"},
    {"rand", "randint(2147483647)"},
    {"jiffies", "jiffies()"},
    {"usermode", "user_mode()"},
    {"cpid", "target()"},
    {"numaid", "numa_node()"},
    {"elapsed", "(ktime_get_ns() - began)"},
    {"true", "1"},
    {"false", "0"},
    {"AF_INET", "2"},
    {"AF_INET6", "10"},
};
constexpr Row dtrace_words[] = {
    {"timestamp", "ktime_get_ns()"},
    {"walltimestamp", "gettimeofday_ns()"},
    {"curthread", "task_current()"},
    {"$target", "target()"},
    {"curcpu", "cpu()"},
};
constexpr Row gaps[] = {
    {"vtimestamp",
     "sonde has no function for a thread's running time; `task_stime()` and `task_utime()` return its processor time"},
    {"ncpus", "sonde has no word for the number of processors"},
    {"username", "sonde has no function for a user's name; `uid()` returns the number"},
    {"ctx", "a handler has no context; it reads `$variables`"},
    {"zonename", "Linux has no zones"},
    {"cwd", "sonde has no word for the working folder"},
    {"stackdepth", "sonde has no word for the number of a stack's frames"},
    {"ucaller", "`uaddr()` is the program's current address; `ubacktrace()` has its callers"},
    {"caller", "`backtrace()` has the callers"},
};

const Row* find(const auto& rows, std::string_view name) {
    const auto found = std::ranges::find(rows, name, &Row::there);
    return found == std::end(rows) ? nullptr : &*found;
}

bool is_entry(PointKind kind) { return kind == PointKind::Entry || kind == PointKind::TypedEntry; }
bool is_return(PointKind kind) { return kind == PointKind::Return || kind == PointKind::TypedReturn; }

// The result: `retval` of a system call, `$return` in the kernel, where types are known, and `returnval()` in a
// program.
Word result_word(const OurPoint& point) {
    if (point.kind == PointKind::SyscallReturn || point.kind == PointKind::AnySyscallReturn)
        return {"retval", ""};
    if (is_return(point.kind))
        return {point.in_program ? "returnval()" : "$return", ""};
    return {"", "a result is known only when a function returns"};
}

// arg0: number 0
Word argument_word(int number, Dialect dialect, const OurPoint& point, bool as_pointer) {
    switch (point.kind) {
    case PointKind::Mark:
        return {fmt::format("$arg{}", number + 1), ""};
    case PointKind::Return:
    case PointKind::TypedReturn:
        if (dialect == Dialect::Dtrace && number == 1)
            return result_word(point);
        return {"", "at a return, write `$NAME` for an argument's value at the entry"};
    case PointKind::SyscallReturn:
    case PointKind::AnySyscallReturn:
        if (dialect == Dialect::Dtrace && number < 2)
            return result_word(point);
        return {"", "at a return, write `$NAME` for an argument's value at the entry"};
    case PointKind::Sample:
        // The address where the processor was, in the kernel or in a program.
        if (dialect == Dialect::Dtrace && number < 2)
            return {number == 0 ? "(user_mode() ? 0 : addr())" : "(user_mode() ? uaddr() : 0)", ""};
        return {"", "this probe has no arguments"};
    case PointKind::Begin:
    case PointKind::Iterator:
        return {"", "this probe has no arguments"};
    case PointKind::Tracepoint:
        return {"",
                point.tracepoint.empty()
                    ? fmt::format("this probe's variables have names: `sonde -L '{}'` lists them", point.text)
                    : fmt::format("write a tracepoint's arguments as `$NAME`: `sonde -L '{}'` lists them", point.text)};
    default:
        return {fmt::format("{}({})", as_pointer ? "pointer_arg" : "long_arg", number + 1), ""};
    }
}

} // namespace

// Words that depend on the point come first, then the tables. `probe` is therefore in a table, too, for the remaining
// points.
Word find_word(std::string_view name, Dialect dialect, const OurPoint& point, bool as_pointer) {
    const bool is_dtrace = dialect == Dialect::Dtrace;
    if (name.starts_with("arg") && name.size() == 4 && isdigit(static_cast<unsigned char>(name[3])))
        return argument_word(name[3] - '0', dialect, point, as_pointer);
    if (name == "retval" && !is_dtrace)
        return result_word(point);
    if (is_dtrace && name == "errno") {
        if (point.kind != PointKind::SyscallReturn && point.kind != PointKind::AnySyscallReturn)
            return {"", "an error is known only when a system call returns"};
        return {"(retval < 0 ? -retval : 0)", ""};
    }
    const bool any_syscall = point.kind == PointKind::AnySyscallEntry || point.kind == PointKind::AnySyscallReturn;
    const bool syscall = any_syscall || point.kind == PointKind::SyscallEntry || point.kind == PointKind::SyscallReturn;
    if (is_dtrace && name == "probefunc")
        return {syscall ? "name" : "ppfunc()", ""};
    if (is_dtrace && name == "probename")
        return {is_entry(point.kind) || point.kind == PointKind::SyscallEntry ||
                        point.kind == PointKind::AnySyscallEntry
                    ? "\"entry\""
                : is_return(point.kind) || point.kind == PointKind::SyscallReturn ||
                        point.kind == PointKind::AnySyscallReturn
                    ? "\"return\""
                    : "pn()",
                ""};
    if (name == "probe" && !is_dtrace && any_syscall)
        return {"name", ""};
    // pn() is the point as written in the script, so all matches of a pattern count as one. For system calls it is the
    // call.
    const bool named = is_entry(point.kind) || is_return(point.kind) || point.kind == PointKind::Mark ||
                       point.kind == PointKind::Tracepoint || point.kind == PointKind::RawTracepoint;
    if (name == "probe" && !is_dtrace && named)
        return {"pp()", ""};
    if (is_dtrace && name == "probemod")
        return {"", "sonde has no word for a probe's module; `pn()` is the probe point"};
    if (is_dtrace && name == "probeprov")
        return {"", "sonde has no word for a provider; `pn()` is the probe point"};
    if (const Row* row = find(both, name))
        return {std::string(row->ours), ""};
    const Row* row = is_dtrace ? find(dtrace_words, name) : find(bpftrace_words, name);
    if (row)
        return {std::string(row->ours), ""};
    if (const Row* none = find(gaps, name))
        return {"", std::string(none->ours)};
    return {"", "sonde does not know this name"};
}

std::string argument_named(std::string_view name, const OurPoint& point) {
    if (const hints::TracepointField* field = hints::find_field(point.tracepoint, name))
        return std::string(field->ours);
    if (point.kind == PointKind::SyscallReturn && name == "ret")
        return "retval";
    if (point.kind == PointKind::AnySyscallEntry || point.kind == PointKind::AnySyscallReturn)
        return name == "ret" ? "retval" : name == "id" ? "syscall_nr" : fmt::format("${}", name);
    if (name == "__syscall_nr")
        return "syscall_nr";
    if (name == "retval" && is_return(point.kind))
        return "$return";
    return fmt::format("${}", name);
}

} // namespace sonde::bridge
