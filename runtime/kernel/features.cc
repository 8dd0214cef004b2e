// Tests features by trying. Each test loads a program of a few instructions that uses the feature, and checks whether
// the kernel accepts it. Where an accepted program is not enough, the test also creates a link that cannot have any
// effect: to "/", or to a function that nothing calls.
//
// The programs are written as bytes, because this code must not depend on a compiler. The comments show the
// instructions.
#include "runtime/kernel/features.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/btf_file.h"
#include "base/fd.h"
#include "runtime/kernel/lockdown.h"
#include "runtime/kernel/preemption.h"
#include "runtime/kernel/privileges.h"
#include "runtime/kernel/uprobe_session.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// `type` may be newer than the enumeration in the header.
Fd load(uint32_t type, const bpf_insn* code, size_t count, uint32_t attach_type) {
    bpf_prog_load_opts options{};
    options.sz = sizeof options;
    options.expected_attach_type = static_cast<enum bpf_attach_type>(attach_type);
    return Fd(bpf_prog_load(static_cast<enum bpf_prog_type>(type), "sonde_try", "GPL", code, count, &options));
}

bool has_may_goto() {
    // may_goto +1 (6.9, "bpf: Introduce may_goto instruction"); r0 = 0; r0 = 0; exit. Older kernels, such as 6.12,
    // refuse the distance 0.
    const bpf_insn code[] = {
        {0xe5, 0, 0, 1, 0},
        {0xb7, 0, 0, 0, 0},
        {0xb7, 0, 0, 0, 0},
        {0x95, 0, 0, 0, 0},
    };
    return load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, std::size(code), 0).get() >= 0;
}

bool has_uprobe_multi() {
    const bpf_insn code[] = {{0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0}};
    Fd program = load(BPF_PROG_TYPE_KPROBE, code, std::size(code), trace_uprobe_multi);
    if (program.get() < 0)
        return false;
    // A link to "/" always fails. The error shows whether the kernel knows this type of link. EBADF: it does, and has
    // noticed that "/" is not a regular file. EINVAL: it does not.
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags;
        uint64_t path, offsets, ref_ctr_offsets, cookies;
        uint32_t count, multi_flags, pid, padding;
    } attr{};
    uint64_t offset = 0;
    attr.prog_fd = static_cast<uint32_t>(program.get());
    attr.attach_type = trace_uprobe_multi;
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

bool has_tracepoint_cookie() {
    // r0 = bpf_get_attach_cookie(r1); exit
    const bpf_insn code[] = {{0x85, 0, 0, 0, BPF_FUNC_get_attach_cookie}, {0x95, 0, 0, 0, 0}};
    return load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, std::size(code), 0).get() >= 0;
}

bool has_register_writes() {
    constexpr int16_t ax = 80;                    // offset of the register in struct pt_regs
    const bpf_insn code[] = {{0x79, 2, 1, ax, 0}, // r2 = *(u64*)(r1 + ax)
                             {0x7b, 1, 2, ax, 0}, // *(u64*)(r1 + ax) = r2
                             {0xb7, 0, 0, 0, 0},
                             {0x95, 0, 0, 0, 0}};
    return load(BPF_PROG_TYPE_KPROBE, code, std::size(code), 0).get() >= 0;
}

constexpr const char* kernel_types = "/sys/kernel/btf/vmlinux";

// Returns the number of a function in the kernel's BTF; 0 if it does not exist.
uint32_t find_function(const char* name) {
    Result<std::string> bytes = read_file(kernel_types);
    return bytes.ok() ? BtfFile(*bytes).find(name, BTF_KIND_FUNC) : 0;
}

// Loads a program that does nothing, for a kernel function. Returns an empty Fd, and errno, if the kernel refuses it.
Fd load_at_function(bpf_prog_type type, bpf_attach_type attach, uint32_t function) {
    const bpf_insn code[] = {{0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0}}; // r0 = 0; exit
    bpf_prog_load_opts options{};
    options.sz = sizeof options;
    options.expected_attach_type = attach;
    options.attach_btf_id = function;
    return Fd(
        bpf_prog_load(static_cast<enum bpf_prog_type>(type), "sonde_try", "GPL", code, std::size(code), &options));
}

std::string why_not_write() {
    // bpf_probe_write_user(0, r10 - 8, 8); return 0
    const bpf_insn code[] = {
        {0x7a, 10, 0, -8, 0}, {0xbf, 2, 10, 0, 0}, {0x07, 2, 0, 0, -8},
        {0xb7, 1, 0, 0, 0},   {0xb7, 3, 0, 0, 8},  {0x85, 0, 0, 0, BPF_FUNC_probe_write_user},
        {0xb7, 0, 0, 0, 0},   {0x95, 0, 0, 0, 0},
    };
    if (load(BPF_PROG_TYPE_KPROBE, code, std::size(code), 0).get() >= 0)
        return "";
    int error = errno;
    if (std::string locked = lockdown(); !locked.empty())
        return fmt::format("it is locked down ({}), so BPF programs cannot write user memory", locked);
    return fmt::format("it refuses a program that writes user memory: {}", std::strerror(error));
}

std::string why_not_kprobe() {
    if (access("/sys/bus/event_source/devices/kprobe/type", F_OK) == 0)
        return "";
    return "the kernel is built without kprobes (CONFIG_KPROBES, CONFIG_KPROBE_EVENTS)";
}

std::string why_not_fentry() {
    // This function is called by the kernel's own tests only.
    constexpr const char* function = "bpf_fentry_test1";
    const Result<std::string> bytes = read_file(kernel_types);
    const BtfFile types(bytes.ok() ? std::string_view(*bytes) : "");
    const uint32_t id = types.find(function, BTF_KIND_FUNC);
    if (id == 0)
        return "the kernel's types are not available (CONFIG_DEBUG_INFO_BTF)";
    if (load_at_function(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, id))
        return why_no_direct_calls(types);
    std::string why = fmt::format("the kernel refuses them: {}", std::strerror(errno));
    if (std::string locked = lockdown(); !locked.empty())
        why += fmt::format(", and the kernel is locked down ({})", locked);
    return why;
}

std::string why_no_netfilter() {
    const bpf_insn code[] = {{0xb7, 0, 0, 0, 1}, {0x95, 0, 0, 0, 0}}; // r0 = 1; exit
    Fd program = load(static_cast<enum bpf_prog_type>(32), code, std::size(code), 45);
    if (program)
        return "";
    if (errno == EINVAL)
        return "it has no BPF programs for packets; they need Linux 6.4 (CONFIG_NETFILTER_BPF_LINK)";
    return std::strerror(errno);
}

std::string why_no_lsm() {
    constexpr const char* function = "bpf_lsm_file_open";
    uint32_t id = find_function(function);
    if (id == 0)
        return "it is built without BPF security hooks (CONFIG_BPF_LSM)";
    if (!load_at_function(BPF_PROG_TYPE_LSM, BPF_LSM_MAC, id))
        return fmt::format("it refuses such programs: {}", std::strerror(errno));
    // They are trampolines of the hooks.
    const Result<std::string> bytes = read_file(kernel_types);
    if (const std::string why = bytes.ok() ? why_no_direct_calls(BtfFile(*bytes)) : ""; !why.empty())
        return "it has no trampolines (fentry): " + why;
    // The kernel loads such programs even if BPF is not an active security module, and then never calls them.
    std::string modules;
    if (!has_bpf_security_module(modules).value_or(true))
        return fmt::format("BPF is not one of its security modules{}; add `bpf` to the kernel's parameter `lsm=`",
                           modules.empty() ? "" : fmt::format(" ({})", modules));
    return "";
}

bool can_set_result_of(const char* function) {
    const uint32_t id = find_function(function);
    return id != 0 && load_at_function(BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, id);
}

// The verifier accepts functions on the error injection list, functions named `security_*`, and on newer kernels system
// calls.
std::string why_no_result(const std::string& function) {
    if (const std::string& why = running_kernel().why_not_fentry(); !why.empty())
        return "it has no trampolines (fentry): " + why;
    if (can_set_result_of(function.c_str()))
        return "";
    if (errno != EINVAL)
        return fmt::format("it refuses such programs: {}", std::strerror(errno));
    if (find_function("within_error_injection_list") != 0)
        return fmt::format("`{}` does not permit error injection (/sys/kernel/debug/error_injection/list)", function);
    return only_security_functions(
        can_set_result_of(fmt::format("{}umask", host_architecture().system_calls().function_prefix).c_str()));
}

std::string why_no_decision(plan::ProbeKind kind, const std::string& function) {
    switch (plan::traits(kind).decision) {
    case plan::Decision::None:
        return "";
    case plan::Decision::Verdict:
        return why_no_netfilter();
    case plan::Decision::Refusal:
        return why_no_lsm();
    case plan::Decision::Result:
        break;
    }
    return why_no_result(function);
}

bool has_kprobe_multi() {
    constexpr uint32_t kprobe_multi = 42;
    const bpf_insn code[] = {{0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0}};
    Fd program = load(BPF_PROG_TYPE_KPROBE, code, std::size(code), kprobe_multi);
    if (!program)
        return false;
    // Link to a function that nothing calls. Kernels without CONFIG_FPROBE know the type of program but refuse the
    // link.
    const char* function = "bpf_fentry_test1";
    struct {
        uint32_t prog_fd, target_fd, attach_type, flags, multi_flags, count;
        uint64_t symbols, addresses, cookies;
    } attr{};
    attr.prog_fd = static_cast<uint32_t>(program.get());
    attr.attach_type = kprobe_multi;
    attr.count = 1;
    attr.symbols = reinterpret_cast<uint64_t>(&function);
    return Fd(static_cast<int>(syscall(SYS_bpf, 28, &attr, sizeof attr))).get() >= 0;
}

KernelFacts probe_kernel() {
    KernelFacts facts;
    facts.why_not_fentry = why_not_fentry;
    facts.why_not_kprobe = why_not_kprobe;
    facts.why_not_write = why_not_write;
    facts.kprobe_multi = has_kprobe_multi;
    facts.uprobe_multi = has_uprobe_multi;
    facts.uprobe_session = has_uprobe_session;
    facts.may_goto = has_may_goto;
    facts.tracepoint_cookie = has_tracepoint_cookie;
    facts.register_writes = has_register_writes;
    // Breakpoints need a privilege that trampolines do not need. Probes that miss hits are better than none.
    facts.preempts_handlers = [] { return has_capability(CAP_SYS_ADMIN) && handlers_are_preempted(); };
    facts.why_no_decision = why_no_decision;
    return facts;
}

} // namespace

std::string only_security_functions(bool and_system_calls) {
    return fmt::format("it is built without error injection (CONFIG_FUNCTION_ERROR_INJECTION), so only results of "
                       "functions `security_...`{} can be set",
                       and_system_calls ? fmt::format(" and of system calls (`{}...`)",
                                                      host_architecture().system_calls().function_prefix)
                                        : "");
}

// Linux 6.1 has a counter for each processor, which shows that a program is in the middle of an access. Until it has
// finished, no other program on this processor finds anything. Since 6.2, a helper of its own ("bpf: Use a new lookup
// routine when percpu counter is busy") finds what exists, and newer kernels have no such counter.
bool has_task_storage(bool anywhere) {
    const Result<std::string> bytes = read_file(kernel_types);
    if (!bytes.ok())
        return false;
    const BtfFile types(*bytes);
    if (types.find("bpf_task_storage_get", BTF_KIND_FUNC) == 0)
        return false;
    return types.find("bpf_task_storage_get_recur", BTF_KIND_FUNC) != 0 ||
           types.find("bpf_task_storage_busy", BTF_KIND_VAR) == 0 || !(anywhere || handlers_are_preempted());
}

const KernelFacts& running_kernel() {
    static const KernelFacts facts = probe_kernel();
    return facts;
}

plan::LinkKinds find_link_kinds(const plan::Plan& plan, bool only_perf_events) {
    const KernelFacts& kernel = running_kernel();
    plan::LinkKinds kinds;
    kinds.uprobe_multi = !plan.bpf_object.empty() && !only_perf_events && kernel.uprobe_multi();
    kinds.kprobe_multi = plan.fits_kprobe_multi() && kernel.kprobe_multi();
    return kinds;
}

} // namespace sonde
