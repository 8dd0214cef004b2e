/* Copies the values that functions' entries have saved when a process forks. The child returns from the same functions
 * as its parent, but as another thread.
 *
 *     main() calls f(7)        saved: {thread 10, stack address} -> 7
 *     f() calls fork()         the copy: {thread 11, the same stack address} -> 7
 *     both return from f()     both find the 7
 *
 * Copying needs a walk over the whole map, for each fork on the machine. So a small array first tells whether the
 * forking thread has saved anything at all. Several threads share a byte of this array. That can only cause a walk that
 * finds nothing.
 *
 * Addresses below the stack pointer belong to calls that have returned, and are not copied. */
#include "fork.h"
#include "kernel_task.h"
#include "saved.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static long (*const bpf_for_each_map_elem)(void* map, void* callback, void* context, u64 flags) = (void*)164;

extern u8 sonde_savers; /* a map, defined by the script's module */

/* Records that the current thread has saved values. */
RT u64 sonde_rt_saves(void)
{
    u32 index = (u32)bpf_get_current_pid_tgid() % SONDE_SAVERS;
    u8* saver = bpf_map_lookup_elem(&sonde_savers, &index);
    if (saver)
        *(volatile u8*)saver = 1;
    return 0;
}

/* Call it at a fork, in the parent. Returns 0 if there is nothing to copy. A new thread of the same process has its
 * own stack and gets nothing. */
RT u64 sonde_rt_forks(u64* context, struct sonde_fork* f)
{
    struct task_struct *child = (void*)context[1], *parent = (void*)context[0];
    struct mm_struct *childs = 0, *parents = 0;
    s32 tgid = 0, pid = 0;
    u32 index = (u32)bpf_get_current_pid_tgid() % SONDE_SAVERS;
    u8* saver = bpf_map_lookup_elem(&sonde_savers, &index);
    if (!saver || !*(volatile u8*)saver)
        return 0;
    READ(childs, child->mm);
    READ(parents, parent->mm);
    READ(tgid, child->tgid);
    READ(pid, child->pid);
    if (childs == parents && pid != tgid)
        return 0;
    f->parent = bpf_get_current_pid_tgid();
    f->child = (u64)(u32)tgid << 32 | (u32)pid;
    bpf_probe_read_kernel(&f->stack, 8, (const u8*)bpf_task_pt_regs(bpf_get_current_task_btf()) + SONDE_REGS_SP);
    return 1;
}

/* Calls below the stack pointer have returned already. */
static long copy_call(void* map, const u64* key, const u8* value, struct sonde_fork* f)
{
    u64 copy[2] = {f->child, key[1]};
    if (key[0] != f->parent || key[1] < f->stack)
        return 0;
    bpf_map_update_elem(map, copy, value, 0);
    u64* seal = bpf_map_lookup_elem(map, copy);
    if (seal) /* the first word of the values; the child does not run yet */
        *seal += (f->child - f->parent) * SONDE_SEAL_OWNER;
    return 0;
}

RT u64 sonde_rt_copy_calls(void* map, struct sonde_fork* f)
{
    return (u64)bpf_for_each_map_elem(map, (void*)copy_call, f, 0);
}
