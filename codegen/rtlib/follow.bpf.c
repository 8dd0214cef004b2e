/* The target's process tree: children join when they are forked, and leave when their last thread exits. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#include "task.h"

extern u8 sonde_targets; /* the map, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;

static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static long (*const bpf_probe_read_kernel)(void* dst, u32 size, const void* unsafe_ptr) = (void*)113;

/* A raw tracepoint, not tp_btf: that would make libbpf read all the kernel's types. The parent is the current task. */
__attribute__((section("raw_tp/sched_process_fork"), used)) int sonde_follow_fork(u64* ctx)
{
    struct task_struct* child = (void*)ctx[1];
    u32 from = (u32)(bpf_get_current_pid_tgid() >> 32), to = 0;
    u8 one = 1;
    if (!bpf_map_lookup_elem(&sonde_targets, &from))
        return 0;
    bpf_probe_read_kernel(&to, sizeof to, __builtin_preserve_access_index(&child->tgid));
    if (from != to)
        bpf_map_update_elem(&sonde_targets, &to, &one, 0);
    return 0;
}

/* do_exit() counts a thread as gone before it says so. A process id may come again, as somebody else's. */
__attribute__((section("raw_tp/sched_process_exit"), used)) int sonde_follow_exit(u64* ctx)
{
    struct task_struct* task = (void*)ctx[0];
    struct signal_struct* signal = 0;
    u32 tgid = (u32)(bpf_get_current_pid_tgid() >> 32);
    s32 live = 1;
    if (!bpf_map_lookup_elem(&sonde_targets, &tgid))
        return 0;
    bpf_probe_read_kernel(&signal, sizeof signal, __builtin_preserve_access_index(&task->signal));
    if (bpf_probe_read_kernel(&live, sizeof live, __builtin_preserve_access_index(&signal->live)) == 0 && live == 0)
        bpf_map_delete_elem(&sonde_targets, &tgid);
    return 0;
}
