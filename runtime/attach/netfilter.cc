// Netfilter programs, which decide whether the kernel accepts a packet.
//
// This calls bpf(2) directly, because older libbpf headers lack the structure. The layout is that of the member
// link_create.netfilter of union bpf_attr (include/uapi/linux/bpf.h, 6.4).
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {

Result<std::unique_ptr<Attachment>> attach_netfilter(const PointToAttach& one) {
    const plan::Point& point = one.point;
    constexpr int bpf_link_create = 28;
    constexpr uint32_t bpf_netfilter = 45;
    constexpr int32_t most_behind = 100;
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags;
        uint32_t pf, hooknum;
        int32_t priority;
        uint32_t netfilter_flags;
        uint64_t padding[4];
    } attr{};
    attr.prog_fd = static_cast<uint32_t>(one.program_fd());
    attr.attach_type = bpf_netfilter;
    attr.pf = point.hook.family;
    attr.hooknum = point.hook.hook;
    // A hook accepts one BPF program for each priority (nf_hook_entries_grow()). If the priority is in use, try the
    // next ones, which run later.
    long fd = -1;
    for (int32_t behind = 0; behind < most_behind; behind++) {
        attr.priority = point.hook.priority + behind;
        fd = syscall(SYS_bpf, bpf_link_create, &attr, sizeof attr);
        if (fd >= 0 || errno != EBUSY || attr.priority == INT32_MAX)
            break;
    }
    if (fd < 0)
        return errno_error(fmt::format("cannot attach to {}", point.pp), errno);
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(static_cast<int>(fd)));
}

} // namespace sonde
