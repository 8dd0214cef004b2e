// No system call translates a number to another namespace. So this reads the kernel's structures: a small BPF program
// reads the memory (kernel_memory.h), and BTF gives the offsets of the members.
//
// A struct pid has one number for each level of namespaces: pid->numbers[level].nr in the namespace
// pid->numbers[level].ns. For example, a process in a container may be 17 at level 1, and 4242 at level 0, the initial
// namespace. So translating takes two steps: find the struct pid of the number in one namespace, then read its number
// at the other level. A namespace keeps its struct pids in a radix tree (struct idr; Documentation/core-api/idr.rst,
// xarray.rst).
//
// open() verifies the result: if this thread's own number is read incorrectly, it returns an error. So an unknown
// layout of the structures cannot cause wrong numbers.
#include "runtime/processes/process_numbers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/btf_file.h"
#include "base/fd.h"
#include "runtime/kernel/kernel_btf.h"

namespace sonde {
namespace {

constexpr ino_t initial_space = 0xeffffffc; // PROC_PID_INIT_INO, include/linux/proc_ns.h

bool runs_in_initial_space() {
    struct stat own{};
    return stat("/proc/self/ns/pid", &own) != 0 || own.st_ino == initial_space;
}

} // namespace

Result<void> ProcessNumbers::open(KernelMemory& memory) {
    if (memory_ || runs_in_initial_space())
        return {};
    auto unknown = [](const std::string& why) {
        return Error(fmt::format("sonde runs in another PID namespace than the initial one, and cannot translate "
                                 "process numbers: {}; run sonde in the initial namespace",
                                 why));
    };
    Result<std::string> bytes = read_file("/sys/kernel/btf/vmlinux");
    if (!bytes)
        return unknown(bytes.error().message);
    BtfFile types(*bytes);
    bool known = true;
    auto place = [&](const char* in, const char* member) -> uint64_t {
        std::optional<uint32_t> at = member_offset(types, in, member);
        known = known && at;
        return at.value_or(0);
    };
    sonde_numbering n{};
    n.signal = place("task_struct", "signal");
    n.thread_pid = place("task_struct", "thread_pid");
    n.pids = place("signal_struct", "pids");
    n.depth = place("pid", "level");
    n.numbers = place("pid", "numbers");
    n.number = place("upid", "nr");
    n.number_space = place("upid", "ns");
    tree_ = {.idr = place("pid_namespace", "idr"),
             .root = place("idr", "idr_rt"),
             .base = place("idr", "idr_base"),
             .head = place("xarray", "xa_head"),
             .shift = place("xa_node", "shift"),
             .slots = place("xa_node", "slots")};
    const btf_type* number = types.at(types.find("upid", BTF_KIND_STRUCT));
    if (!known || !number)
        return unknown("the kernel's structures are unknown to sonde");
    n.number_size = number->size;
    memory_ = &memory;
    numbering_ = n;
    auto task = static_cast<uint64_t>(memory.current_task());
    if (!task)
        return unknown("the kernel's memory is not readable");
    auto pid = read<uint64_t>(task + n.thread_pid);
    numbering_.level = read<uint32_t>(pid + n.depth);
    initial_ = read<uint64_t>(pid + n.numbers + n.number_space);
    numbering_.space = read<uint64_t>(pid + n.numbers + numbering_.level * n.number_size + n.number_space);
    if (number_at(pid, numbering_.level, numbering_.space) != syscall(SYS_gettid))
        return unknown("the kernel's data about this process is wrong");
    return {};
}

template <typename Value> Value ProcessNumbers::read(uint64_t address) const {
    Value value{};
    memory_->read(reinterpret_cast<char*>(&value), sizeof value, address);
    return value;
}

int64_t ProcessNumbers::number_at(uint64_t pid, uint64_t level, uint64_t space) const {
    uint64_t place = pid + numbering_.numbers + level * numbering_.number_size;
    if (!pid || read<uint32_t>(pid + numbering_.depth) < level ||
        read<uint64_t>(place + numbering_.number_space) != space)
        return 0;
    return read<int32_t>(place + numbering_.number);
}

// Walks the radix tree. A pointer to a node has 2 in its two lowest bits, other pointers are entries. A node has 64
// slots, and `shift` is the number of lower bits of the index that its children use.
uint64_t ProcessNumbers::find(uint64_t space, int64_t number) const {
    constexpr uint64_t slots = 64, node_bits = 3, node = 2;
    uint64_t tree = space + tree_.idr, base = read<uint32_t>(tree + tree_.base);
    if (number <= 0 || static_cast<uint64_t>(number) < base)
        return 0;
    uint64_t index = static_cast<uint64_t>(number) - base, at = read<uint64_t>(tree + tree_.root + tree_.head);
    for (bool top = true; (at & node_bits) == node; top = false) {
        at -= node;
        auto shift = read<uint8_t>(at + tree_.shift);
        if ((top && index >> shift >= slots) || shift >= 64)
            return 0;
        at = read<uint64_t>(at + tree_.slots + 8 * (index >> shift & (slots - 1)));
        index &= (uint64_t{1} << shift) - 1;
    }
    return index == 0 ? at : 0;
}

int64_t ProcessNumbers::in_kernel(int64_t number) const {
    return is_initial() ? number : number_at(find(numbering_.space, number), 0, initial_);
}

int64_t ProcessNumbers::in_session(int64_t number) const {
    return is_initial() ? number : number_at(find(initial_, number), numbering_.level, numbering_.space);
}

std::string why_no_own_proc() {
    char text[32] = {};
    if (readlink("/proc/self", text, sizeof text - 1) < 0)
        return "/proc is not mounted; run `mount -t proc proc /proc`";
    if (std::atoll(text) == getpid())
        return "";
    return fmt::format("/proc belongs to another PID namespace, where this process is {} and not {}; run `mount -t "
                       "proc proc /proc` in a new mount namespace (`unshare --mount-proc`)",
                       text, getpid());
}

} // namespace sonde
