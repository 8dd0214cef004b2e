/* Performance counters: the value for the current thread since a handler first asked there.
 *
 * The hardware counts for a processor, not for a thread. Two maps separate the threads:
 *
 *     sonde_counted       by processor: the counter when the current thread began to run
 *     sonde_counts_of     by thread: the sum of its earlier times on any processor
 *
 * So a thread's value is its sum, plus the counter's present value minus the one when it began to run. When a thread is
 * switched off, counters.bpf.c adds that difference to the sum.
 *
 * Only the difference of two values has a meaning: `a = @perf("cycles")` at the entry of a function, and again at its
 * return. It does not include the time in which other threads ran. */
#include "count.h"

static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

enum { no_exist = 1 };

/* Returns -1 if this processor does not count. */
RT s64 sonde_rt_counter(u64 counter)
{
    u32 key[2] = {(u32)bpf_get_current_pid_tgid(), (u32)counter};
    volatile u64* total = bpf_map_lookup_elem(&sonde_counts_of, key);
    u64 zero = 0, now = 0, before = 0, *last = last_of((u32)counter);
    if (!total) {
        bpf_map_update_elem(&sonde_counts_of, key, &zero, no_exist);
        total = bpf_map_lookup_elem(&sonde_counts_of, key);
    }
    if (!total || !last)
        return -1;
    /* Repeat if the thread was preempted in between, because then the total has changed. */
    for (int attempt = 0; attempt < 4; attempt++) {
        before = *total;
        if (read_counter((u32)counter, &now))
            return -1;
        now -= *(volatile u64*)last;
        if (*total == before)
            break;
    }
    return (s64)(before + now);
}
