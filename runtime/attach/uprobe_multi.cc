// uprobe_multi links: one system call attaches any number of places in one file. Removing the link waits only once.
//
// This calls bpf(2) directly, because older libbpf headers lack the structure. The layout is that of the member
// link_create.uprobe_multi of union bpf_attr (include/uapi/linux/bpf.h, 6.6).
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "runtime/attach/attach.h"
#include "runtime/kernel/uprobe_session.h"

namespace sonde {
namespace {

constexpr int bpf_link_create = 28;
constexpr uint32_t flag_return = 1;

struct LinkCreate {
    uint32_t prog_fd;
    uint32_t target_fd;
    uint32_t attach_type;
    uint32_t flags;
    uint64_t path;
    uint64_t offsets;
    uint64_t ref_ctr_offsets;
    uint64_t cookies;
    uint32_t count;
    uint32_t multi_flags;
    uint32_t pid;
    uint32_t padding;
};

} // namespace

Result<std::unique_ptr<Attachment>> attach_uprobe_multi(int program_fd, const UprobeTargets& targets) {
    LinkCreate attr{};
    attr.prog_fd = static_cast<uint32_t>(program_fd);
    attr.attach_type = targets.is_session ? trace_uprobe_session : trace_uprobe_multi;
    attr.path = reinterpret_cast<uint64_t>(targets.attach_name.c_str());
    attr.offsets = reinterpret_cast<uint64_t>(targets.offsets.data());
    attr.cookies = reinterpret_cast<uint64_t>(targets.cookies.data());
    bool counters = false;
    for (uint64_t offset : targets.ref_ctr_offsets)
        counters = counters || offset != 0;
    if (counters)
        attr.ref_ctr_offsets = reinterpret_cast<uint64_t>(targets.ref_ctr_offsets.data());
    attr.count = static_cast<uint32_t>(targets.offsets.size());
    attr.pid = static_cast<uint32_t>(targets.process);
    attr.multi_flags = targets.at_return ? flag_return : 0;
    long fd = syscall(SYS_bpf, bpf_link_create, &attr, sizeof attr);
    if (fd < 0) {
        std::string what = targets.names.empty() ? targets.path : targets.names[0];
        if (targets.names.size() > 1)
            what += fmt::format(" and {} more", targets.names.size() - 1);
        return errno_error(fmt::format("cannot attach to {}", what), errno);
    }
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(static_cast<int>(fd)));
}

} // namespace sonde
