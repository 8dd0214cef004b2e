/* Keeps the maps of process probes: the probed programs, and the program of each task, because an exiting task no
 * longer knows its program. All programs of this file are linked.
 *
 * The session starts while processes run. It opens /proc/PID/task/TID for each of them, and runs sonde_seen_task() with
 * the number of the open folder. A process that begins at the same moment is also seen by the tracepoint. Whoever comes
 * first adds the task, and the other one finds it there (BPF_NOEXIST), so that its handler runs only once. */
#include "../../runtime/plan/session_words.h"
#include "opened.h"

extern u8 sonde_subjects, sonde_tasks; /* maps, defined by the script's module */
extern struct sonde_session_words sonde_data;

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;

#define PROGRAM(section_name) __attribute__((section(section_name), used)) int
enum { any = 0, no_exist = 1, exists = -17 /* EEXIST */ };

/* The session runs this with the number of an open file, a group, and a row. Returns 0 if the file does not exist. */
PROGRAM("raw_tp/") sonde_add_subject(u64* context)
{
    u64 key[2] = {(u64)opened_inode(context[0]), context[1]};
    u32 row = (u32)context[2];
    return key[0] != 0 && bpf_map_update_elem(&sonde_subjects, key, &row, any) == 0;
}

/* Whether some process probe is for this task. */
static inline int is_wanted(struct task_struct* task, u64 program)
{
    u64 key[2] = {program, ~0ull};
    s32 tgid = 0;
    if (!program)
        return 0;
    if (bpf_map_lookup_elem(&sonde_subjects, key))
        return 1;
    READ(tgid, task->tgid);
    key[0] = (u64)tgid;
    if (bpf_map_lookup_elem(&sonde_subjects, key))
        return 1;
    key[0] = 0;
    return bpf_map_lookup_elem(&sonde_subjects, key) != 0;
}

static inline int keep(struct task_struct* task, u64 flags)
{
    u64 program = program_of(task);
    s32 tid = 0;
    READ(tid, task->pid);
    if (is_wanted(task, program)) {
        long failed = bpf_map_update_elem(&sonde_tasks, &tid, &program, flags);
        if (failed && failed != exists)
            __sync_fetch_and_add(&sonde_data.lost_tasks, 1);
        return failed == 0;
    }
    bpf_map_delete_elem(&sonde_tasks, &tid);
    return 0;
}

PROGRAM("raw_tp/sched_process_fork") sonde_seen_fork(u64* context)
{
    keep((void*)context[1], any);
    return 0;
}

/* A thread that calls exec gets its process' number. */
PROGRAM("raw_tp/sched_process_exec") sonde_seen_exec(u64* context)
{
    u32 old = (u32)context[1];
    bpf_map_delete_elem(&sonde_tasks, &old);
    keep((void*)context[0], any);
    return 0;
}

PROGRAM("raw_tp/sched_process_exit") sonde_seen_exit(u64* context)
{
    struct task_struct* task = (void*)context[0];
    s32 tid = 0, tgid = 0;
    READ(tid, task->pid);
    READ(tgid, task->tgid);
    /* A process can continue after its first thread has exited. */
    if (tid != tgid || is_last(task))
        bpf_map_delete_elem(&sonde_tasks, &tid);
    if (is_last(task))
        bpf_map_delete_elem(&sonde_tasks, &tgid);
    return 0;
}

/* The session runs this with the number of an open folder in /proc, for tasks that ran before. Returns 1 if the task
 * was unknown. */
PROGRAM("raw_tp/") sonde_seen_task(u64* context)
{
    struct task_struct* task = opened_task(context[0]);
    return task && keep(task, no_exist);
}
