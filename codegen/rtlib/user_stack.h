/* What the routines for user stacks share. */
#pragma once

#include "files.h"

/* For a routine that must not add a level: before Linux 6.9, routines may call each other only eight levels deep. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

static long (*const bpf_probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

/* Identifies the process and the program that it runs. */
static inline u64 who_runs(void) {
    struct task_struct* task = bpf_get_current_task_btf();
    u64 process = (u32)(bpf_get_current_pid_tgid() >> 32), mm = 0, program = 0;
    READ(mm, task->mm);
    READ(program, task->self_exec_id);
    return sonde_mix(sonde_mix(mm, process, 0xff51afd7ed558ccdull), program, 0xff51afd7ed558ccdull) | 1;
}

/* Whether an exiting task still owns its stack. The kernel clears the thread's id in the process' memory, which wakes
 * pthread_join(). Then other threads may use or unmap the stack (set_tid_address(2)). */
static inline u64 owns_stack(struct task_struct* task) {
    int* id_at = 0;
    u32 id = 0;
    READ(id_at, task->clear_child_tid);
    return id_at && bpf_probe_read_user(&id, sizeof id, id_at) == 0 && id;
}
/* The reason why a task in the kernel has no user stack; 0 if it has one. */
static inline u64 why_none(struct sonde_stack* stack, struct task_struct* task) {
    enum { PF_EXITING = 4, PF_KTHREAD = 0x200000 };
    struct mm_struct* mm = 0;
    u32 flags = 0;
    if (stack->from == SONDE_FROM_NOWHERE)
        return SONDE_STACK_NO_PROCESS;
    if (stack->sp && stack->sp != (u64)bpf_get_current_task())
        return SONDE_STACK_OTHER_TASK;
    READ(flags, task->flags);
    READ(mm, task->mm);
    if (flags & PF_KTHREAD)
        return SONDE_STACK_KERNEL_THREAD;
    if (flags & PF_EXITING)
        return mm && owns_stack(task) ? 0 : SONDE_STACK_GONE;
    return !mm ? SONDE_STACK_KERNEL_THREAD : stack->from == SONDE_FROM_END ? SONDE_STACK_GONE : 0;
}
