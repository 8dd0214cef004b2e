// What this kernel has, found out by trying.
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "base/fd.h"
#include "runtime/session.h"

namespace sonde {
namespace {

Fd load(enum bpf_prog_type type, const bpf_insn* code, size_t count, uint32_t attach_type) {
    bpf_prog_load_opts options{};
    options.sz = sizeof options;
    options.expected_attach_type = static_cast<enum bpf_attach_type>(attach_type);
    return Fd(bpf_prog_load(type, "sonde_try", "GPL", code, count, &options));
}

bool has_may_goto() {
    // may_goto +0 (6.9, "bpf: Introduce may_goto instruction"); r0 = 0; exit
    const bpf_insn code[] = {
        {0xe5, 0, 0, 0, 0},
        {0xb7, 0, 0, 0, 0},
        {0x95, 0, 0, 0, 0},
    };
    return load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, std::size(code), 0).get() >= 0;
}

bool has_uprobe_multi() {
    const bpf_insn code[] = {{0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0}};
    Fd program = load(BPF_PROG_TYPE_KPROBE, code, std::size(code), 48);
    if (program.get() < 0)
        return false;
    // A link to "/" cannot be made; a kernel that knows the type says that this is no regular file (EBADF), another
    // that it does not know the type (EINVAL).
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags;
        uint64_t path, offsets, ref_ctr_offsets, cookies;
        uint32_t count, multi_flags, pid, padding;
    } attr{};
    uint64_t offset = 0;
    attr.prog_fd = static_cast<uint32_t>(program.get());
    attr.attach_type = 48;
    attr.path = reinterpret_cast<uint64_t>("/");
    attr.offsets = reinterpret_cast<uint64_t>(&offset);
    attr.count = 1;
    long failed = syscall(SYS_bpf, 28, &attr, sizeof attr);
    if (failed >= 0) {
        close(static_cast<int>(failed));
        return true;
    }
    return errno == EBADF;
}

} // namespace

KernelFeatures probe_kernel_features() {
    KernelFeatures features;
    features.may_goto = has_may_goto();
    features.uprobe_multi = has_uprobe_multi();
    return features;
}

} // namespace sonde
