/* The lock of handlers that share globals (frontend/passes/exclusion.cc): a word in the data area, 1 while it is held.
 * Tracing programs get no bpf_spin_lock; the host takes this one too. */
#include "rt.h"

static u64 (*const bpf_get_smp_processor_id)(void) = (void*)8;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

struct waiting {
    u64* word;
    u64 got;
};
static long take(u64 i, struct waiting* w)
{
    (void)i;
    if (*(volatile u64*)w->word != 0 || __sync_val_compare_and_swap(w->word, 0, 1) != 0)
        return 0;
    w->got = 1;
    return 1;
}
/* 1 if it was had within some milliseconds. A holder that sleeps or was preempted for longer costs the others their hit:
 * nobody may wait without end in the kernel. A handler of the session's has left its thread's number and, in the lower half,
 * its processor's and 2. Where that is this processor and a handler cannot be preempted, it would wait for what it keeps
 * from running. Where it is this thread, the hit is the session's handler's own doing (a system call that its work on an
 * array takes), and nothing that the system did: 2. */
RT u64 sonde_rt_lock(u64* word, u64 preemptible)
{
    u64 holder = __sync_val_compare_and_swap(word, 0, 1);
    if (holder == 0)
        return 1;
    if (holder >> 32 == (u32)bpf_get_current_pid_tgid() && holder != 1)
        return 2;
    if (!preemptible && (u32)holder == 2 + bpf_get_smp_processor_id())
        return 0;
    struct waiting w = {word, 0};
    LOOP(1 << 20, take, &w);
    return w.got;
}
