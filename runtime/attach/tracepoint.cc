// Raw tracepoints: the cheapest place in the kernel, with the arguments as the kernel's own handlers get them.
//
// Made with bpf(2) itself, for the cookie: the layout is that of union bpf_attr's raw_tracepoint
// (include/uapi/linux/bpf.h, 6.10).
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {

Result<std::unique_ptr<Attachment>> attach_tracepoint(int program_fd, const plan::Point& point, bool with_cookie) {
    constexpr int bpf_raw_tracepoint_open = 17;
    struct {
        uint64_t name;
        uint32_t prog_fd;
        uint32_t padding;
        uint64_t cookie;
    } attr{};
    attr.name = reinterpret_cast<uint64_t>(point.symbol.c_str());
    attr.prog_fd = static_cast<uint32_t>(program_fd);
    attr.cookie = with_cookie ? point.row : 0;
    long fd = syscall(SYS_bpf, bpf_raw_tracepoint_open, &attr, sizeof attr);
    if (fd < 0)
        return errno_error(fmt::format("cannot attach to {}", point.pp), errno);
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(static_cast<int>(fd)));
}

} // namespace sonde
