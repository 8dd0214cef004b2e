/* The lock of handlers that share globals (frontend/passes/exclusion.cc): a word in the data area that is 1 while
 * the lock is held. Tracing programs cannot use bpf_spin_lock. Handlers on the host use the same lock. */
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
/* Takes the lock, waiting at most a few milliseconds. Returns 1 if it succeeded, 0 if not, and 2 if the hit does not
 * count.
 *
 * Nothing may wait without limit in the kernel. So if the holder sleeps or is preempted for longer, the waiting
 * handlers skip their hits.
 *
 * A handler of the session stores its thread's number in the upper half of the word, and its processor's number plus
 * 2 in the lower half. Two cases follow from this:
 * * The holder was on this processor, and this handler cannot be preempted. Waiting is useless, because the holder
 *   cannot run.
 * * The holder is this thread. Then a system call of the session's own handler caused the hit, for example an access
 *   to an array. The result is 2. */
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
