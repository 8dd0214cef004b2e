/* When a thread is switched off, adds to its total what the processor has counted. All programs of this file are
 * linked. */
#include "count.h"

__attribute__((section("raw_tp/sched_switch"), used)) int sonde_count_switch(u64* context)
{
    struct task_struct* task = (void*)context[1];
    u64 counters = sonde_data.counters;
    u32 tid = 0;
    READ(tid, task->pid);
    for (u32 i = 0; i < SONDE_COUNTERS && i < counters; i++) {
        u32 key[2] = {tid, i};
        u64 now = 0, *last = last_of(i), *total;
        if (!last || read_counter(i, &now))
            continue;
        total = bpf_map_lookup_elem(&sonde_counts_of, key);
        if (total)
            *total += now - *last;
        *last = now;
    }
    return 0;
}
