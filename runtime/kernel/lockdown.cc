// Containers often lack securityfs. Then this file detects lockdown by loading test programs. Lockdown forbids two BPF
// helpers, and nothing else forbids them to a process with CAP_SYS_ADMIN:
//
// * integrity: writing user memory (5.16, "bpf: Add lockdown check for probe_write_user helper")
// * confidentiality: reading the kernel's memory, too (5.4, "bpf: Restrict bpf when kernel lockdown is in
//   confidentiality mode")
#include "runtime/kernel/lockdown.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iterator>

#include "base/fd.h"

namespace sonde {
namespace {

bool is_administrator() {
    constexpr int sys_admin = 21; // CAP_SYS_ADMIN
    Result<std::string> status = read_file("/proc/self/status");
    size_t at = status.ok() ? status->find("CapEff:") : std::string::npos;
    return at != std::string::npos && std::strtoull(status->c_str() + at + 7, nullptr, 16) >> sys_admin & 1;
}

// Returns whether the kernel loads a program that calls helper(r10 - 8, 8, r10 - 8) or helper(r10 - 8, r10 - 8, 8).
// `other` and `size` are the registers of the second address and of the size.
bool may_call(int32_t helper, uint8_t other, uint8_t size) {
    const bpf_insn code[] = {
        {0x7a, 10, 0, -8, 0},    {0xbf, 1, 10, 0, 0},     {0x07, 1, 0, 0, -8},
        {0xbf, other, 10, 0, 0}, {0x07, other, 0, 0, -8}, {0xb7, size, 0, 0, 8},
        {0x85, 0, 0, 0, helper}, {0xb7, 0, 0, 0, 0},      {0x95, 0, 0, 0, 0},
    };
    return Fd(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sonde_try", "GPL", code, std::size(code), nullptr)).get() >= 0;
}

} // namespace

std::string lockdown() {
    // The file contains "none [integrity] confidentiality", for example. The active level is in brackets.
    if (Result<std::string> text = read_file("/sys/kernel/security/lockdown"); text.ok()) {
        size_t open = text->find('[');
        if (open == std::string::npos || text->starts_with("[none]"))
            return "";
        return text->substr(open + 1, text->find(']') - open - 1);
    }
    // A harmless helper first: if the kernel refuses even this one, the reason is not lockdown.
    if (!is_administrator() || !may_call(BPF_FUNC_get_current_comm, 3, 2))
        return "";
    if (!may_call(BPF_FUNC_probe_read_kernel, 3, 2))
        return "confidentiality";
    return may_call(BPF_FUNC_probe_write_user, 2, 3) ? "" : "integrity";
}

std::optional<bool> has_bpf_security_module(std::string& modules) {
    if (Result<std::string> text = read_file("/sys/kernel/security/lsm"); text.ok()) {
        modules = text->substr(0, text->find('\n'));
        return ("," + modules + ",").find(",bpf,") != std::string::npos;
    }
    // 6.8, "LSM: Create lsm_list_modules system call"
    constexpr long list_modules = 461;
    constexpr uint64_t bpf = 109; // LSM_ID_BPF, include/uapi/linux/lsm.h
    uint64_t numbers[64];
    uint32_t size = sizeof numbers;
    long count = syscall(list_modules, numbers, &size, 0);
    if (count < 0)
        return std::nullopt;
    return std::find(numbers, numbers + count, bpf) != numbers + count;
}

} // namespace sonde
