// Raw tracepoints: one program can be at several. Where handlers there can be preempted (runtime/preemption.h),
// programs for system calls are made for the tracepoints' perf events.
#include <bpf/bpf.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {
namespace {

class Link final : public Attachment {
  public:
    explicit Link(int fd) : fd_(fd) {}

  private:
    Fd fd_;
};

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
    errno = 0;
    bpf_link* link = bpf_program__attach_tracepoint(made, "raw_syscalls", tracepoint);
    if (!link && errno == E2BIG)
        return Error(fmt::format("the kernel runs 64 programs at raw_syscalls:{}, of all sessions together, and has "
                                 "them already",
                                 tracepoint));
    if (!link)
        return errno_error(fmt::format("cannot attach to the tracepoint raw_syscalls:{}", tracepoint), errno);
    return std::unique_ptr<Attachment>(std::make_unique<BpfLink>(link));
}

} // namespace sonde
