// Perf events that run a program, on all processors or in single threads.
//
// A perf event counts on one processor or in one thread. A probe such as timer.profile needs one event for each
// processor. When a processor is switched off, its events end, and they must be opened again when it returns
// (look_after()).
#include "runtime/attach/perf_links.h"

#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace sonde {

PerfLinks::PerfLinks(bpf_object* object, const std::string& program, const plan::Point& point)
    : program_(bpf_object__find_program_by_name(object, program.c_str())), pp_(point.pp), cookie_(point.row) {}

PerfLinks::~PerfLinks() {
    for (const Link& one : links_)
        bpf_link__destroy(one.link);
}

bool EventLife::goes_on(int event) {
    uint64_t values[2] = {}; // the count, and the time enabled in nanoseconds
    if (read(event, values, sizeof values) != static_cast<ssize_t>(sizeof values))
        return false;
    return std::exchange(enabled_ns_, values[1]) != values[1];
}

Result<void> PerfLinks::open(Link& link, pid_t thread) {
    std::string what = fmt::format("cannot attach to {}", pp_);
    long fd = syscall(SYS_perf_event_open, &link.attr, thread, link.cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && (errno == ENODEV || errno == ESRCH))
        return {};
    if (fd < 0 && errno == ENOSPC && link.attr.type == PERF_TYPE_BREAKPOINT)
        return Error(fmt::format("{}: all of the processor's 4 debug registers are in use", what), ENOSPC);
    if (fd < 0)
        return errno_error(what, errno);
    bpf_perf_event_opts options{};
    options.sz = sizeof options;
    options.bpf_cookie = cookie_;
    link.link = bpf_program__attach_perf_event_opts(program_, static_cast<int>(fd), &options);
    if (!link.link) {
        int err = errno;
        close(static_cast<int>(fd));
        return errno_error(what, err);
    }
    link.event = static_cast<int>(fd);
    link.life = {};
    return {};
}

Result<void> PerfLinks::add_thread(const perf_event_attr& attr, pid_t thread) {
    Link link;
    link.attr = attr;
    if (Result<void> opened = open(link, thread); !opened)
        return opened;
    if (link.link)
        links_.push_back(link);
    return {};
}

Result<void> PerfLinks::add_processors(const perf_event_attr& attr) {
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
        Link& link = links_.emplace_back();
        link.attr = attr;
        link.attr.read_format = EventLife::read_format;
        link.cpu = static_cast<int>(cpu);
        if (Result<void> opened = open(link, -1); !opened)
            return opened;
    }
    return {};
}

// Ignores errors: the next call tries again.
void PerfLinks::look_after() {
    for (Link& one : links_) {
        if (one.cpu < 0 || (one.link && one.life.goes_on(one.event)))
            continue;
        bpf_link__destroy(std::exchange(one.link, nullptr));
        static_cast<void>(open(one, -1));
    }
}

} // namespace sonde
