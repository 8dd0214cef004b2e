/* The target's process tree: children join when they are forked, and leave when their last thread exits. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
    s32 pid, tgid;
};
#pragma clang attribute pop

extern u8 sonde_targets; /* the map, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;

__attribute__((section("tp_btf/sched_process_fork"), used)) int sonde_follow_fork(u64* ctx)
{
    struct task_struct* parent = (void*)ctx[0];
    struct task_struct* child = (void*)ctx[1];
    u32 from = (u32)parent->tgid, to = (u32)child->tgid;
    u8 one = 1;
    if (from != to && bpf_map_lookup_elem(&sonde_targets, &from))
        bpf_map_update_elem(&sonde_targets, &to, &one, 0);
    return 0;
}
