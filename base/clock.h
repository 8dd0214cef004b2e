// The clocks that sessions use.
#pragma once

#include <ctime>

#include <cstdint>

namespace sonde {

// CLOCK_MONOTONIC in nanoseconds.
inline int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The same clock as in the kernel (BPF's ktime_get_ns()): without the offset of sonde's time namespace
// (time_namespaces(7)).
int64_t kernel_now_ns();

// CPU time of the calling thread in nanoseconds (CLOCK_THREAD_CPUTIME_ID).
inline int64_t thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Nanoseconds since 1970 (CLOCK_REALTIME).
inline int64_t real_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// CLOCK_TAI minus CLOCK_REALTIME in nanoseconds. The difference is in whole seconds; it is 0 if the kernel does not
// know about leap seconds.
int64_t tai_offset_ns();

} // namespace sonde
