// Programs that decide about packets.
//
// Made with bpf(2) itself: the layout is that of union bpf_attr's link_create.netfilter
// (include/uapi/linux/bpf.h, 6.4).
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {

Result<std::unique_ptr<Attachment>> attach_netfilter(int program_fd, const plan::Point& point) {
    constexpr int bpf_link_create = 28;
    constexpr uint32_t bpf_netfilter = 45;
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags;
        uint32_t pf, hooknum;
        int32_t priority;
        uint32_t netfilter_flags;
        uint64_t padding[4];
    } attr{};
    attr.prog_fd = static_cast<uint32_t>(program_fd);
    attr.attach_type = bpf_netfilter;
    attr.pf = point.hook.family;
    attr.hooknum = point.hook.hook;
    attr.priority = point.hook.priority;
    long fd = syscall(SYS_bpf, bpf_link_create, &attr, sizeof attr);
    if (fd < 0)
        return errno_error(fmt::format("cannot attach to {}", point.pp), errno);
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(static_cast<int>(fd)));
}

} // namespace sonde
