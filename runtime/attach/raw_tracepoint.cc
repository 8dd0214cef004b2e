// Attaches programs to raw tracepoints. One program can be attached to several of them.
//
// On some kernels, handlers of system calls can be preempted (runtime/kernel/preemption.h). There their programs are
// loaded for the perf events of these tracepoints instead. libbpf finds these events only if tracefs is mounted, so
// this file opens them itself.
#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "base/tracefs.h"
#include "runtime/attach/attach.h"

namespace sonde {
namespace {

class Link final : public Attachment {
  public:
    explicit Link(int fd) : fd_(fd) {}

  private:
    Fd fd_;
};

Result<Fd> open_event(const char* tracepoint) {
    Result<std::string> number = read_tracefs(fmt::format("events/raw_syscalls/{}/id", tracepoint));
    if (!number)
        return std::move(number).error();
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.config = std::strtoull(number->c_str(), nullptr, 10);
    // The program runs on all processors, although the event is opened for processor 0.
    Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event)
        return errno_error("perf_event_open", errno);
    return event;
}

} // namespace

Result<std::unique_ptr<Attachment>> attach_raw_tracepoint(int program_fd, const char* tracepoint) {
    int fd = bpf_raw_tracepoint_open(tracepoint, program_fd);
    if (fd < 0)
        return errno_error(fmt::format("cannot attach to the tracepoint {}", tracepoint), errno);
    return std::unique_ptr<Attachment>(std::make_unique<Link>(fd));
}

Result<std::unique_ptr<Attachment>> attach_syscalls(const KernelObject& kernel, const std::string& program,
                                                    const char* tracepoint) {
    const bpf_program* made = bpf_object__find_program_by_name(kernel.object(), program.c_str());
    if (!made || bpf_program__type(made) != BPF_PROG_TYPE_TRACEPOINT)
        return attach_raw_tracepoint(kernel.program_fd(program), tracepoint);
    Result<Fd> event = open_event(tracepoint);
    if (!event)
        return std::move(event).error().in(fmt::format("cannot attach to the tracepoint raw_syscalls:{}", tracepoint));
    errno = 0;
    bpf_link* link = bpf_program__attach_perf_event(made, event->get()); // owns the event
    if (!link && errno == E2BIG)
        return Error(
            fmt::format("raw_syscalls:{} already has 64 BPF programs of all sessions, the kernel's limit", tracepoint));
    if (!link)
        return errno_error(fmt::format("cannot attach to the tracepoint raw_syscalls:{}", tracepoint), errno);
    event->release();
    return std::unique_ptr<Attachment>(std::make_unique<BpfLink>(link));
}

} // namespace sonde
