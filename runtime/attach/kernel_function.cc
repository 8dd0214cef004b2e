// Functions of the kernel: kprobes (one perf event for each, or one kprobe_multi link for many) and trampolines (fentry
// and fexit, 5.5).
//
// The mechanisms differ in cost and in abilities:
//
//     trampoline      a call in the function's first bytes; needs the function's types in BTF
//     kprobe          a breakpoint, or a call if the kernel can optimize it; any instruction; registers
//     kprobe_multi    through ftrace; entries and returns only; one link for thousands of functions
//
// plan::mechanism_of() decides for one of these. If the kernel refuses a function, explain() translates its error code.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// Translates the kernel's error code to a message.
Error explain(const plan::Point& point, int err) {
    std::string what = fmt::format("cannot attach to {}", point.pp);
    constexpr int enotsupp = 524; // the kernel's own number: a function without a place for a trampoline, on arm64
    if (err == ENOENT || err == EINVAL || err == enotsupp)
        return Error(fmt::format("{}: the kernel does not allow tracing of this {}", what,
                                 point.symbol.empty() ? "address" : "function"),
                     err);
    if (err == EBUSY)
        return Error(fmt::format("{}: the kernel does not allow tracing of this function, or something else (a live "
                                 "patch) has taken it",
                                 what),
                     err);
    if (err == EILSEQ)
        return Error(fmt::format("{}: no instruction begins there", what), err);
    if (err == EADDRNOTAVAIL)
        return Error(fmt::format("{}: several functions have this name", what), err);
    return errno_error(what, err);
}

} // namespace

uint64_t missed_by_link(int fd) {
    constexpr uint32_t perf_event = 7, kprobe_multi = 8; // enum bpf_link_type
    constexpr uint32_t kprobe = 3, kretprobe = 4;        // enum bpf_perf_event_type
    // The members of struct bpf_link_info that are read here. Older libbpf headers lack some of them.
    union {
        struct {
            uint32_t type, id, program, padding;
        } head;
        struct {
            uint32_t head[4];
            uint64_t addresses;
            uint32_t count, flags;
            uint64_t missed, cookies;
        } multi;
        struct {
            uint32_t head[4];
            uint32_t type, padding;
            uint64_t name;
            uint32_t name_size, offset;
            uint64_t address, missed, cookie;
        } event;
        uint64_t words[32];
    } info{};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
        return 0;
    if (info.head.type == kprobe_multi)
        return info.multi.missed;
    const bool breakpoint = info.event.type == kprobe || info.event.type == kretprobe;
    return info.head.type == perf_event && breakpoint ? info.event.missed : 0;
}

Result<std::unique_ptr<Attachment>> attach_kprobe(const PointToAttach& one) {
    const plan::Point& point = one.point;
    bpf_program* program = bpf_object__find_program_by_name(one.kernel.object(), one.program.c_str());
    bpf_kprobe_opts options{};
    options.sz = sizeof options;
    options.bpf_cookie = point.row;
    options.retprobe = !one.saves_entry() && plan::traits(one.probe.kind).at_return;
    options.offset = point.offset;
    std::string function = point.module.empty() ? point.symbol : point.module + ":" + point.symbol;
    errno = 0;
    bpf_link* link = bpf_program__attach_kprobe_opts(program, function.empty() ? nullptr : function.c_str(), &options);
    if (!link)
        return explain(point, errno);
    return std::unique_ptr<Attachment>(std::make_unique<BpfLink>(link));
}

// The layout is that of the member link_create.kprobe_multi of union bpf_attr (include/uapi/linux/bpf.h, 5.18).
Result<std::unique_ptr<Attachment>> attach_kprobe_multi(int program_fd, const UprobeTargets& targets) {
    constexpr int bpf_link_create = 28;
    constexpr uint32_t trace_kprobe_multi = 42, flag_return = 1;
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags, multi_flags, count;
        uint64_t symbols, addresses, cookies;
    } attr{};
    attr.prog_fd = static_cast<uint32_t>(program_fd);
    attr.attach_type = trace_kprobe_multi;
    attr.multi_flags = targets.at_return ? flag_return : 0;
    attr.count = static_cast<uint32_t>(targets.offsets.size());
    attr.addresses = reinterpret_cast<uint64_t>(targets.offsets.data());
    attr.cookies = reinterpret_cast<uint64_t>(targets.cookies.data());
    long fd = syscall(SYS_bpf, bpf_link_create, &attr, sizeof attr);
    if (fd < 0)
        return errno_error(fmt::format("cannot attach to {}", targets.names[0]), errno);
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(static_cast<int>(fd)));
}

Result<std::unique_ptr<Attachment>> attach_trampoline(const PointToAttach& one) {
    int fd = bpf_raw_tracepoint_open(nullptr, one.program_fd());
    if (fd < 0)
        return explain(one.point, -fd);
    return std::unique_ptr<Attachment>(std::make_unique<LinkAttachment>(fd));
}

} // namespace sonde
