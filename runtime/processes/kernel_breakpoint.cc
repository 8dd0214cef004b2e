// The kernel does not list its uprobes. But it rejects a uprobe whose reference counter (semaphore) differs from that
// of an existing uprobe at the same place: perf_event_open() fails with EINVAL, and changes nothing. So sonde asks for
// a uprobe with a reference counter that no program has: in the file's ELF header.
//
// If the kernel accepts the new uprobe, the place had none, and sonde closes the new one at once. It is for sonde's own
// process only, so the kernel inserts no breakpoint into others. But when the kernel removes it, it can remove any
// breakpoint at this place. So sonde does not ask if the process depends on its breakpoint, because it has a debugger
// or handles SIGTRAP. Without either, the next hit of a breakpoint that is not the kernel's would end the program.
#include "runtime/processes/kernel_breakpoint.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/processes.h"

namespace sonde {
namespace {

// Returns the value of a line `NAME: VALUE` in /proc/PID/task/TID/status; -1 if this line is missing.
int64_t status_value(int64_t process, int64_t thread, const std::string& name, int base) {
    std::ifstream status(fmt::format("/proc/{}/task/{}/status", process, thread));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name + ":"))
            return static_cast<int64_t>(std::strtoull(line.c_str() + name.size() + 1, nullptr, base));
    return -1;
}

bool depends_on_breakpoints(int64_t process) {
    const int64_t handled = status_value(process, process, "SigCgt", 16);
    if (handled < 0 || (handled & (1ll << (SIGTRAP - 1))))
        return true;
    return tracer_of(process) > 0;
}

// Returns the error of perf_event_open() for a uprobe that counts in the file's first bytes; 0 if the kernel accepts
// it.
int try_other_counter(int fd, uint64_t offset) {
    constexpr uint64_t counter = 2, counter_shift = 32; // format/ref_ctr_offset of the events (4.20)
    uint32_t type = 0;
    if (!(std::ifstream("/sys/bus/event_source/devices/uprobe/type") >> type))
        return ENOSYS;
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = type;
    attr.config = counter << counter_shift;
    attr.config1 = reinterpret_cast<uint64_t>(path.c_str());
    attr.config2 = offset;
    attr.disabled = 1;
    const Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    return event ? 0 : errno;
}

// Returns whether the kernel accepts such a uprobe in a new file. If it rejected all of them, a rejection would not
// show that a uprobe exists.
bool is_test_possible() {
    const Fd file(static_cast<int>(syscall(SYS_memfd_create, "sonde_counter", MFD_CLOEXEC)));
    const std::string code(64, '\x90');
    return file && write(file.get(), code.data(), code.size()) == static_cast<ssize_t>(code.size()) &&
           try_other_counter(file.get(), 0) == 0;
}

} // namespace

int64_t tracer_of(int64_t process) {
    for (const int64_t thread : threads_of(process))
        if (const int64_t tracer = status_value(process, thread, "TracerPid", 10); tracer > 0)
            return tracer;
    return 0;
}

bool is_breakpoint_of_kernel(int64_t process, int fd, uint64_t offset) {
    static const bool possible = is_test_possible();
    return possible && !depends_on_breakpoints(process) && try_other_counter(fd, offset) == EINVAL;
}

} // namespace sonde
