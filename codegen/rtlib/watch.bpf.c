/* Programs for watchpoints in memory of processes that start during the session. They stop a process at its
 * program's first instruction until the session has set the watchpoints. They also report when the last process that
 * inherited the watchpoints has ended. All programs of this file are linked.
 *
 * A process waits within the handler of a breakpoint, where it can be preempted, for a word that the session sets.
 * This needs no signal and no tracer. So no other program can notice that the process waits, and if the session
 * dies, nothing remains. */
#include "../../runtime/plan/watch_events.h"
#include "../../runtime/plan/session_words.h"
#include "kernel_task.h"
#include "numbering.h"

extern u8 sonde_watches, sonde_watched, sonde_families; /* maps, defined by the script's module */
extern const u32 sonde_rt_filter; /* 1: only processes in `sonde_targets` */
extern struct sonde_session_words sonde_data;

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void*)5;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;
static long (*const bpf_copy_from_user_task)(void* dst, u32 size, const void* src, struct task_struct* task,
                                            u64 flags) = (void*)191;
static u64 (*const bpf_get_attach_cookie)(void* context) = (void*)174;

#include "own_stack.h"
#include "targets.h"

#define PROGRAM(section_name) __attribute__((section(section_name), used)) int
enum { any = 0, no_exist = 1, force_wakeup = 2 };

static inline int tell(struct sonde_watch_event* event)
{
    u64 untold = SONDE_FAMILY_UNTOLD;
    if (bpf_ringbuf_output(&sonde_watches, event, sizeof *event, force_wakeup) == 0)
        return 1;
    struct sonde_family* none = bpf_map_lookup_elem(&sonde_families, &untold);
    if (none)
        __sync_fetch_and_add(&none->members, 1);
    return 0;
}

/* Removes the process from its family. */
static inline void leave(u32 process)
{
    struct sonde_watch_event ended = {};
    u64* number = bpf_map_lookup_elem(&sonde_watched, &process);
    if (!number)
        return;
    ended.family = *number;
    bpf_map_delete_elem(&sonde_watched, &process);
    struct sonde_family* family = bpf_map_lookup_elem(&sonde_families, &ended.family);
    if (family && __sync_fetch_and_add(&family->members, -1) == 1)
        tell(&ended);
}

struct waiting {
    struct sonde_family* family;
    u64 until, entry;
};
static long look(u64 i, struct waiting* w)
{
    u8 byte;
    (void)i;
    if (*(volatile u64*)&w->family->state != SONDE_FAMILY_WAITS || *(volatile u64*)&sonde_data.state == SONDE_STOPPING ||
        bpf_ktime_get_ns() > w->until)
        return 1;
    /* Looks up a page of the process. On kernels without preemption this gives the processor to others
     * (cond_resched() in __get_user_pages(), mm/gup.c), above all to the session if there is only one processor. It
     * fails if the process is being killed. */
    return bpf_copy_from_user_task(&byte, 1, (void*)w->entry, bpf_get_current_task_btf(), 0) != 0;
}

/* At the first instruction of a watched program. */
PROGRAM("uprobe.s") sonde_watch_begin(u64* context)
{
    u64 now = bpf_ktime_get_ns();
    u32 process = (u32)(bpf_get_current_pid_tgid() >> 32);
    struct sonde_family fresh = {SONDE_FAMILY_WAITS, 1};
    struct sonde_watch_event event = {};
    if (*(volatile u64*)&sonde_data.state == SONDE_STOPPING || (sonde_rt_filter && !is_target(process))) {
        keep_own_stack(context);
        return 0;
    }
    event.family = now << 22 | process; /* PID_MAX_LIMIT is 2^22 */
    event.entry = context[SONDE_REGS_PC / 8];
    event.process = sonde_numbering.level ? (u32)process_number((u64)bpf_get_current_task()) : process;
    event.program = (u32)bpf_get_attach_cookie(context);
    /* Processes that ran when the session began are known already. */
    if (bpf_map_update_elem(&sonde_watched, &process, &event.family, no_exist) != 0)
        return 0;
    bpf_map_update_elem(&sonde_families, &event.family, &fresh, any);
    struct waiting w = {bpf_map_lookup_elem(&sonde_families, &event.family), now + SONDE_WATCH_MOST_NS,
                        event.entry};
    if (!w.family || !tell(&event))
        return 0;
    LOOP(1 << 23, look, &w);
    __sync_val_compare_and_swap(&w.family->state, SONDE_FAMILY_WAITS,
                                *(volatile u64*)&sonde_data.state == SONDE_STOPPING ? SONDE_FAMILY_RUNS : SONDE_FAMILY_LEFT);
    return 0;
}

/* The session runs this with the number of a family that has its watchpoints. Returns 0 if the family has not waited
 * for them. */
PROGRAM("raw_tp/") sonde_watch_release(u64* context)
{
    u64 number = context[0];
    struct sonde_family* family = bpf_map_lookup_elem(&sonde_families, &number);
    return family &&
           __sync_val_compare_and_swap(&family->state, SONDE_FAMILY_WAITS, SONDE_FAMILY_RUNS) != SONDE_FAMILY_LEFT;
}

/* The session runs this with the numbers of a running process and its family. Returns 0 if the process is known
 * already. */
PROGRAM("raw_tp/") sonde_watch_running(u64* context)
{
    u32 process = (u32)context[0];
    struct sonde_family fresh = {SONDE_FAMILY_RUNS, 1};
    u64 number = context[1];
    if (bpf_map_update_elem(&sonde_watched, &process, &number, no_exist) != 0)
        return 0;
    bpf_map_update_elem(&sonde_families, &number, &fresh, any);
    return 1;
}

PROGRAM("raw_tp/sched_process_fork") sonde_watch_fork(u64* context)
{
    struct task_struct* task = (void*)context[1];
    u32 parent = (u32)(bpf_get_current_pid_tgid() >> 32), child = 0;
    u64* number = bpf_map_lookup_elem(&sonde_watched, &parent);
    READ(child, task->tgid);
    if (!number || child == parent)
        return 0;
    u64 same = *number;
    struct sonde_family* family = bpf_map_lookup_elem(&sonde_families, &same);
    if (family && bpf_map_update_elem(&sonde_watched, &child, &same, any) == 0)
        __sync_fetch_and_add(&family->members, 1);
    return 0;
}

/* The kernel removes watchpoints when a process starts another program. */
PROGRAM("raw_tp/sched_process_exec") sonde_watch_exec(u64* context)
{
    (void)context;
    leave((u32)(bpf_get_current_pid_tgid() >> 32));
    return 0;
}

PROGRAM("raw_tp/sched_process_exit") sonde_watch_exit(u64* context)
{
    if (is_last((void*)context[0]))
        leave((u32)(bpf_get_current_pid_tgid() >> 32));
    return 0;
}
