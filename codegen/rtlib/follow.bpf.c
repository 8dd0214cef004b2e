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
extern u8 sonde_control;          /* the ring buffer, defined by the script's module */
extern const u32 sonde_rt_flight; /* 1: there is a flight recorder */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static u64 (*const bpf_ktime_get_ns)(void) = (void*)5;
static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;

enum { DUMP_RECORD = 13 /* plan::Dump */, FORCE_WAKEUP = 2 };

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

/* With the flight recorder, tells the session that a process of the target has crashed: it was ended by a signal whose
 * default is a core dump, or by SIGKILL, as the kernel does when memory is short. */
struct crash {
    u32 type, format, row, size; /* plan::RecordHeader; row: the process */
    s64 time;                    /* in nanoseconds since 1970 */
    u64 text;                    /* empty: the runtime makes it from `format`, which is the signal */
};
static inline void tell_crash(struct task_struct* task, u32 process)
{
    const u64 crashes = 1ull << 3 | 1ull << 4 | 1ull << 5 | 1ull << 6 | 1ull << 7 | 1ull << 8 | 1ull << 9 | 1ull << 11 |
                        1ull << 24 | 1ull << 25 | 1ull << 31;
    s32 code = 0;
    READ(code, task->exit_code);
    const u32 signal = (u32)code & 127;
    if (!(crashes >> (signal & 63) & 1) || signal > 63)
        return;
    struct crash record = {DUMP_RECORD, signal, process, 16, (s64)(bpf_ktime_get_ns() + (u64)sonde_data.realtime_offset_ns), 0};
    bpf_ringbuf_output(&sonde_control, &record, sizeof record, FORCE_WAKEUP);
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
    if (tid != tgid || !is_target((u32)tgid))
        return 0;
    leave((u32)tgid);
    if (sonde_rt_flight)
        tell_crash(task, (u32)tgid);
    return 0;
}
