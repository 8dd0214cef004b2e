/* Finds out whether an event is about a process that a process probe is for. Handlers ask before they begin.
 *
 * The kernel calls the program of `probe process("nginx").begin` for each process that begins. The map sonde_subjects
 * has a row for each combination of a subject and a group of probes. A subject is a program, a process number, or 0 for
 * all processes. A program is identified by the address of its inode, because a path can have several names for the
 * same file.
 *
 * An ending task is a problem: the kernel has already released its memory, and with it the name of its program. So
 * another map remembers the program of each task (tasks.bpf.c). */
#include "opened.h"

extern u8 sonde_subjects, sonde_tasks; /* maps, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;

enum { exiting = 4 }; /* PF_EXITING */

RT s64 sonde_rt_program(u64 task) { return (s64)program_of(task ? (void*)task : bpf_get_current_task()); }

/* The row of the group's point that matches this process: by its program, by its number, or because the point is for
 * all processes. -1 if no point matches. */
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

/* The task that begins. At sched_process_fork(parent, child) it is the child. At sched_process_exec(task, old
 * number, ...) it is the current one. When the session examines running processes, it is the task whose folder in
 * /proc the session has opened. Returns 0 if the task is not a process; if `thread` is 1, returns 0 for a process'
 * first thread. */
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

/* At sched_process_exit(task) and sched_process_exec(task, ...): the program of the task that ends, or of the
 * process that replaces its program. 0 if neither happens. */
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
