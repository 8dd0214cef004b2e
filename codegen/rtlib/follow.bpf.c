/* Keeps the set of processes that belong to the target: the command joins when it begins, children join when they are
 * forked, and processes leave when they are freed.
 *
 * The set is an array of bits, one for each possible process number (PID_MAX_LIMIT is 2^22, so 512 KB). Handlers test a
 * bit at each hit, which takes less time than a lookup in a hash map.
 *
 * The numbers are those of the initial PID namespace, because these are unique. The target that the user names with -x
 * can be a number of another namespace. sonde_follow_exec() and the runtime convert it.
 *
 * Each program is attached to one raw tracepoint of the scheduler. A child must be in the set before its first
 * instruction: the tracepoint sched_process_fork is hit in the parent, before the child runs. */
#include "../../runtime/plan/session_words.h"
#include "kernel_task.h"
#include "numbering.h"

extern struct sonde_session_words sonde_data;

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

#include "targets.h"

static inline void join(u32 process)
{
    u64* word = word_of(process);
    if (word)
        __sync_fetch_and_or(word, bit_of(process));
}
static inline void leave(u32 process)
{
    u64* word = word_of(process);
    if (word)
        __sync_fetch_and_and(word, ~bit_of(process));
}

/* A raw tracepoint, because libbpf would read all kernel types for tp_btf. The parent is the current task. */
__attribute__((section("raw_tp/sched_process_fork"), used)) int sonde_follow_fork(u64* ctx)
{
    struct task_struct* child = (void*)ctx[1];
    u32 from = (u32)(bpf_get_current_pid_tgid() >> 32), to = 0;
    if (!is_target(from))
        return 0;
    READ(to, child->tgid);
    if (from != to)
        join(to);
    return 0;
}

/* Before its exec, the command's process is sonde itself, waiting. */
__attribute__((section("raw_tp/sched_process_exec"), used)) int sonde_follow_exec(void* ctx)
{
    u32 tgid = (u32)(bpf_get_current_pid_tgid() >> 32);
    (void)ctx;
    /* The target's number is in the session's namespace; the bits are by the kernel's number. */
    u32 number = sonde_numbering.level ? (u32)process_number((u64)bpf_get_current_task()) : tgid;
    if (number == sonde_data.target) {
        join(tgid);
        __sync_fetch_and_add(&sonde_data.joined, 1);
    }
    return 0;
}

/* A process leaves when the kernel frees the task of its first thread, which happens after all other threads are
 * freed. Leaving earlier would be wrong: the kernel reuses process ids, an exiting process still closes its files,
 * and two threads that exit at once may both find that they are the last one. */
__attribute__((section("raw_tp/sched_process_free"), used)) int sonde_follow_exit(u64* ctx)
{
    struct task_struct* task = (void*)ctx[0];
    s32 tid = 0, tgid = 0;
    READ(tid, task->pid);
    READ(tgid, task->tgid);
    if (tid == tgid && is_target((u32)tgid))
        leave((u32)tgid);
    return 0;
}
