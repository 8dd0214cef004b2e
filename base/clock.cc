// The clocks that sessions use.
//
// The kernel's ktime_get_ns() counts from the machine's start. In a time namespace, CLOCK_MONOTONIC has an offset for
// the processes inside (time_namespaces(7)). Then times of handlers and of the session differ by this offset, and
// kernel_now_ns() subtracts it.
//
// BPF cannot read CLOCK_REALTIME, but CLOCK_TAI, which differs by whole seconds. tai_offset_ns() measures the
// difference by reading both clocks, and rounds it to a second.
#include "base/clock.h"

#include <cstdio>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {
namespace {

// Reads "monotonic 86400 0", the seconds and nanoseconds that the namespace adds. A process with several threads cannot
// change its time namespace.
int64_t time_namespace_offset_ns() {
    const Result<std::string> offsets = read_file("/proc/self/timens_offsets");
    long long seconds = 0, nanoseconds = 0;
    if (!offsets || std::sscanf(offsets->c_str(), "monotonic %lld %lld", &seconds, &nanoseconds) != 2)
        return 0;
    return int64_t{seconds} * 1'000'000'000 + nanoseconds;
}

int64_t read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace

int64_t kernel_now_ns() {
    static const int64_t offset = time_namespace_offset_ns();
    return now_ns() - offset;
}

// Repeats if the readings differ: somebody may set the clock, or the thread may be preempted between two readings.
int64_t tai_offset_ns() {
    constexpr int64_t second = 1'000'000'000, close = second / 4;
    int64_t before = 0, tai = 0, after = 0;
    for (int tries = 0; tries < 8; tries++) {
        before = read_clock(CLOCK_REALTIME);
        tai = read_clock(CLOCK_TAI);
        after = read_clock(CLOCK_REALTIME);
        if (after >= before && after - before < close)
            break;
    }
    return (tai - before + second / 2) / second * second;
}

} // namespace sonde
