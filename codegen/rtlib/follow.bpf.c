/* The target's process tree: the command joins when it begins, children when they are forked, and they leave when their
 * last thread exits. */
#include "kernel_task.h"

extern u8 sonde_targets; /* the map, defined by the script's module */
extern struct {
    u64 state, realtime_offset, target, others[14], leader;
} sonde_data; /* SessionWords */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;

static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

/* A raw tracepoint, not tp_btf: that would make libbpf read all the kernel's types. The parent is the current task. */
__attribute__((section("raw_tp/sched_process_fork"), used)) int sonde_follow_fork(u64* ctx)
{
    struct task_struct* child = (void*)ctx[1];
    u32 from = (u32)(bpf_get_current_pid_tgid() >> 32), to = 0;
    u8 one = 1;
    if (!bpf_map_lookup_elem(&sonde_targets, &from))
        return 0;
    READ(to, child->tgid);
    if (from != to)
        bpf_map_update_elem(&sonde_targets, &to, &one, 0);
    return 0;
}

/* Before that, the command's process is this program, waiting. */
__attribute__((section("raw_tp/sched_process_exec"), used)) int sonde_follow_exec(void* ctx)
{
    u32 tgid = (u32)(bpf_get_current_pid_tgid() >> 32);
    u8 one = 1;
    (void)ctx;
    if (tgid != sonde_data.target)
        return 0;
    bpf_map_update_elem(&sonde_targets, &tgid, &one, 0);
    sonde_data.leader = tgid;
    return 0;
}

/* A process id may come again, as somebody else's. */
__attribute__((section("raw_tp/sched_process_exit"), used)) int sonde_follow_exit(u64* ctx)
{
    u32 tgid = (u32)(bpf_get_current_pid_tgid() >> 32);
    if (!bpf_map_lookup_elem(&sonde_targets, &tgid) || !is_last((void*)ctx[0]))
        return 0;
    bpf_map_delete_elem(&sonde_targets, &tgid);
    if (tgid == sonde_data.leader)
        sonde_data.leader = ~0ull;
    return 0;
}
