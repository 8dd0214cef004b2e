// The clock that sessions measure with.
#pragma once

#include <ctime>

#include <cstdint>

namespace sonde {

// Nanoseconds of CLOCK_MONOTONIC.
inline int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The same for the kernel's side, BPF's ktime_get_ns(): without the offset of the time namespace that sonde runs in
// (time_namespaces(7)).
int64_t kernel_now_ns();

// Nanoseconds that the calling thread has run (CLOCK_THREAD_CPUTIME_ID).
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

// CLOCK_TAI minus CLOCK_REALTIME in nanoseconds: whole seconds, 0 where nothing has told the kernel of leap seconds.
int64_t tai_offset_ns();

} // namespace sonde
