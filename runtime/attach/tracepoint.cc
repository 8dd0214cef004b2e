// Raw tracepoints: the kernel calls the program directly, with the tracepoint's own arguments.
//
// This calls bpf(2) directly to pass a cookie, which older libbpf versions cannot. The layout is that of the member
// raw_tracepoint of union bpf_attr (include/uapi/linux/bpf.h, 6.10).
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {

Result<std::unique_ptr<Attachment>> attach_tracepoint(const PointToAttach& one) {
    // A program at several tracepoints needs the cookie to determine which one was hit (6.10, "bpf: support BPF cookie
    // in raw tracepoint (raw_tp, tp_btf) programs"). For system calls, the number of the call is enough.
    const bool with_cookie = one.probe.points.size() > 1 && !one.point.is_system_call();
    // The program that saves values for a system call's return runs at the call's begin.
    const std::string tracepoint = one.saves_entry() ? "sys_enter" : one.point.symbol;
    if (!with_cookie && (tracepoint == "sys_enter" || tracepoint == "sys_exit")) {
        Result<std::unique_ptr<Attachment>> attached = attach_syscalls(one.kernel, one.program, tracepoint.c_str());
        return attached ? std::move(attached)
                        : std::move(attached).error().in(fmt::format("cannot attach to {}", one.point.pp));
    }
    constexpr int bpf_raw_tracepoint_open = 17;
    struct {
        uint64_t name;
        uint32_t prog_fd;
        uint32_t padding;
        uint64_t cookie;
    } attr{};
    attr.name = reinterpret_cast<uint64_t>(one.point.symbol.c_str());
    attr.prog_fd = static_cast<uint32_t>(one.program_fd());
    attr.cookie = with_cookie ? one.point.row : 0;
    long fd = syscall(SYS_bpf, bpf_raw_tracepoint_open, &attr, sizeof attr);
    if (fd < 0)
        return errno_error(fmt::format("cannot attach to {}", one.point.pp), errno);
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(static_cast<int>(fd)));
}

} // namespace sonde
