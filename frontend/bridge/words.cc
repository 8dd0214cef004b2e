#include "frontend/bridge/words.h"
#include "frontend/bridge/tracepoint_fields.h"

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
    {"vtimestamp", "no function here gives the time that a thread has run; `task_stime()` and `task_utime()` give its "
                   "processor time"},
    {"ncpus", "no word here gives the number of processors"},
    {"numaid", "no function here gives a processor's node"},
    {"username", "no function here gives a user's name; `uid()` gives the number"},
    {"ctx", "a handler here has `$variables` in place of a context"},
    {"zonename", "there are no zones on Linux"},
    {"cwd", "no word here gives the working folder"},
    {"stackdepth", "no word here counts a stack's frames"},
    {"ucaller", "`uaddr()` is where a program is; its callers are in `ubacktrace()`"},
    {"caller", "callers are in `backtrace()`"},
};

const Row* find(const auto& rows, std::string_view name) {
    const auto found = std::ranges::find(rows, name, &Row::there);
    return found == std::end(rows) ? nullptr : &*found;
}

bool is_entry(PointKind kind) { return kind == PointKind::Entry || kind == PointKind::TypedEntry; }
bool is_return(PointKind kind) { return kind == PointKind::Return || kind == PointKind::TypedReturn; }

Word result_word(const OurPoint& point) {
    if (point.kind == PointKind::SyscallReturn || point.kind == PointKind::AnySyscallReturn)
        return {"retval", ""};
    if (is_return(point.kind))
        return {point.in_program ? "returnval()" : "$return", ""};
    return {"", "a result is known where a function returns"};
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
        return {"", "at a return, an argument is `$NAME` here, as it was at the entry"};
    case PointKind::SyscallReturn:
    case PointKind::AnySyscallReturn:
        if (dialect == Dialect::Dtrace && number < 2)
            return result_word(point);
        return {"", "at a return, an argument is `$NAME` here, as it was at the entry"};
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
                    ? fmt::format("what this probe knows has names here: `sonde -L '{}'` lists them", point.text)
                    : fmt::format("a tracepoint's arguments are `$NAME` here: `sonde -L '{}'` lists them", point.text)};
    default:
        return {fmt::format("{}({})", as_pointer ? "pointer_arg" : "long_arg", number + 1), ""};
    }
}

} // namespace

Word find_word(std::string_view name, Dialect dialect, const OurPoint& point, bool as_pointer) {
    const bool is_dtrace = dialect == Dialect::Dtrace;
    if (name.starts_with("arg") && name.size() == 4 && isdigit(static_cast<unsigned char>(name[3])))
        return argument_word(name[3] - '0', dialect, point, as_pointer);
    if (name == "retval" && !is_dtrace)
        return result_word(point);
    if (is_dtrace && name == "errno") {
        if (point.kind != PointKind::SyscallReturn && point.kind != PointKind::AnySyscallReturn)
            return {"", "an error is known where a system call returns"};
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
        return {"", "no word here gives a probe's module; `pn()` gives the point"};
    if (is_dtrace && name == "probeprov")
        return {"", "no word here gives a provider; `pn()` gives the point"};
    if (const Row* row = find(both, name))
        return {std::string(row->ours), ""};
    const Row* row = is_dtrace ? find(dtrace_words, name) : find(bpftrace_words, name);
    if (row)
        return {std::string(row->ours), ""};
    if (const Row* none = find(gaps, name))
        return {"", std::string(none->ours)};
    return {"", "this name is not known here"};
}

std::string argument_named(std::string_view name, const OurPoint& point) {
    if (const TracepointField* field = find_field(point.tracepoint, name))
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
