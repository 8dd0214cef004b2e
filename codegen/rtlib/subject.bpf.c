/* Whom process probes are about: what handlers ask before they begin. */
#include "opened.h"

extern u8 sonde_subjects, sonde_tasks; /* maps, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;

enum { exiting = 4 }; /* PF_EXITING */

RT s64 sonde_rt_program(u64 task) { return (s64)program_of(task ? (void*)task : bpf_get_current_task()); }

/* The row of a group's point that is about this process, by its program, its number, or because it is about all; -1. */
RT s64 sonde_rt_subject(u64 program, u64 tgid, u64 group)
{
    u64 key[2] = {program, group};
    u32* row;
    if (!program)
        return -1;
    row = bpf_map_lookup_elem(&sonde_subjects, key);
    if (!row) {
        key[0] = tgid;
        row = bpf_map_lookup_elem(&sonde_subjects, key);
    }
    if (!row) {
        key[0] = 0;
        row = bpf_map_lookup_elem(&sonde_subjects, key);
    }
    return row ? (s64)*row : -1;
}

/* The task that begins: a child at sched_process_fork(parent, child), the current one at sched_process_exec(task, its
 * old number, ...), and where the session looks at what runs already, the one whose folder in /proc it has opened. 0:
 * it is no process (or, if thread is 1, no other thread than a process' first). */
RT s64 sonde_rt_begun(u64* context, u64 thread)
{
    u64 first = context[0], second = context[1];
    struct task_struct* task = is_pointer(second)  ? (void*)second
                               : is_pointer(first) ? (void*)first
                                                   : opened_task(first);
    if (is_pointer(first) && !is_pointer(second))
        return thread ? 0 : (s64)task;
    return task && is_thread(task) == (int)thread ? (s64)task : 0;
}

/* At sched_process_exit(task) and sched_process_exec(task, ...): the program of the task that ends, or of the process
 * that leaves it for another one; 0 if none does. */
RT s64 sonde_rt_ended(u64* context, u64 thread)
{
    struct task_struct* task = (void*)context[0];
    u32 flags = 0;
    s32 tid = 0, tgid = 0;
    READ(flags, task->flags);
    READ(tid, task->pid);
    READ(tgid, task->tgid);
    if (thread && (!(flags & exiting) || tid == tgid))
        return 0;
    if (!thread && (flags & exiting) && !is_last(task))
        return 0;
    u64* program = bpf_map_lookup_elem(&sonde_tasks, thread ? &tid : &tgid);
    return program ? (s64)*program : 0;
}
