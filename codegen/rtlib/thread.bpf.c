/* Copies a thread's registers and some of its kernel structures for the session, which unwinds the thread's stack
 * (runtime/plan/thread_walk.h).
 *
 * The kernel saves the registers of a program at the same distance from the beginning of each kernel stack. The helper
 * bpf_task_pt_regs() returns their address for the current task, which gives the distance. */
#include "../../runtime/plan/thread_walk.h"
#include "opened.h"

extern u8 sonde_thread; /* a map, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sched_info {
    u64 last_arrival;
};
struct task_struct___scheduled {
    void* stack;
    s32 on_cpu;
    u32 __state;
    s32 exit_state;
    u64 nvcsw, nivcsw;
    struct sched_info sched_info;
};
#pragma clang attribute pop

/* The size of a member in bytes. */
#define SIZE(type, member) __builtin_preserve_field_info(((struct type*)0)->member, 1)

static inline u64 arrival_of(struct task_struct___scheduled* task)
{
    u64 arrival = 0;
    if (HAS(task_struct___scheduled, sched_info))
        READ(arrival, task->sched_info.last_arrival);
    return arrival;
}
static inline void note_schedule(struct sonde_thread* to, struct task_struct___scheduled* task)
{
    u64 by_itself = 0, by_others = 0;
    u64 runs = 0;
    s32 exited = 0;
    u32 state = 0;
    READ(by_itself, task->nvcsw);
    READ(by_others, task->nivcsw);
    /* Its size depends on the kernel: 4 bytes or one. */
    bpf_probe_read_kernel(&runs, SIZE(task_struct___scheduled, on_cpu), __builtin_preserve_access_index(&task->on_cpu));
    READ(state, task->__state);
    READ(exited, task->exit_state);
    to->switches = by_itself + by_others;
    to->runs = runs != 0;
    to->state = state;
    to->exited = (u32)exited;
    to->arrival = arrival_of(task);
    to->own_arrival = arrival_of((void*)bpf_get_current_task());
}
static inline void note_memory(struct sonde_thread* to, struct mm_struct* mm)
{
    READ(to->start_code, mm->start_code);
    READ(to->code_pages, mm->exec_vm);
    READ(to->task_size, mm->task_size);
    bpf_probe_read_kernel(to->auxiliary, sizeof to->auxiliary, __builtin_preserve_access_index(&mm->saved_auxv));
}

/* The session runs this with the number of an open folder in /proc, and whether it wants more than the schedule.
 * Returns 1 if the thread exists. */
__attribute__((section("raw_tracepoint"), used)) int sonde_ask_thread(u64* context)
{
    u32 none = 0;
    struct sonde_thread* to = bpf_map_lookup_elem(&sonde_thread, &none);
    struct task_struct *task = opened_task(context[0]), *self = bpf_get_current_task_btf();
    u64 own_stack = 0, stack = 0;
    s32 number = 0;
    if (!to)
        return 0;
    to->is_there = 0;
    if (!task)
        return 0;
    note_schedule(to, (void*)task);
    to->is_there = 1;
    if (!context[1])
        return 1;
    READ(number, task->tgid);
    to->process = (u32)number;
    READ(number, task->pid);
    to->thread = (u32)number;
    READ(own_stack, ((struct task_struct___scheduled*)self)->stack);
    READ(stack, ((struct task_struct___scheduled*)task)->stack);
    /* Through memory, because the verifier rejects the difference of a pointer and a number. */
    stack += opaque(&to->registers[0], (u64)bpf_task_pt_regs(self)) - own_stack;
    /* Word by word: their number depends on the architecture, and after the last one the stack ends. */
    for (u32 i = 0; i < SONDE_THREAD_WORDS; i++)
        bpf_probe_read_kernel(&to->registers[i], 8, (void*)(stack + 8 * i));
    READ(to->thread_pointer, task->thread.SONDE_THREAD_POINTER);
    u32 flags = 0;
    READ(flags, task->flags);
    to->flags = flags;
    READ(to->clear_child_tid, task->clear_child_tid);
    READ(to->exec_id, task->self_exec_id);
    struct mm_struct* mm = 0;
    READ(mm, task->mm);
    to->memory = (u64)mm;
    note_memory(to, mm);
    return 1;
}
