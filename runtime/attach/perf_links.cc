// Perf events with one program at all of them.
#include "runtime/attach/perf_links.h"

#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace sonde {

PerfLinks::PerfLinks(bpf_object* object, const std::string& program, const plan::Point& point)
    : program_(bpf_object__find_program_by_name(object, program.c_str())), pp_(point.pp), cookie_(point.row) {}

PerfLinks::~PerfLinks() {
    for (bpf_link* link : links_)
        bpf_link__destroy(link);
}

Result<void> PerfLinks::add(perf_event_attr attr, pid_t thread, int cpu) {
    std::string what = fmt::format("cannot attach to {}", pp_);
    long fd = syscall(SYS_perf_event_open, &attr, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && (errno == ENODEV || errno == ESRCH))
        return {};
    if (fd < 0 && errno == ENOSPC && attr.type == PERF_TYPE_BREAKPOINT)
        return Error(fmt::format("{}: all of the processor's 4 debug registers are in use", what), ENOSPC);
    if (fd < 0)
        return errno_error(what, errno);
    bpf_perf_event_opts options{};
    options.sz = sizeof options;
    options.bpf_cookie = cookie_;
    bpf_link* link = bpf_program__attach_perf_event_opts(program_, static_cast<int>(fd), &options);
    if (!link) {
        int err = errno;
        close(static_cast<int>(fd));
        return errno_error(what, err);
    }
    links_.push_back(link);
    return {};
}

} // namespace sonde
