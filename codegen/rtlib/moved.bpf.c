/* Holds processes that move their own code.
 *
 * The problem: some programs copy their code to large pages. The copy contains the breakpoints, but the kernel has
 * no uprobe for the copy's addresses, so the first hit would kill the program. The program then maps the copy over
 * the original code with mprotect() or mremap().
 *
 * The idea: this program is attached to both. The process waits in the handler, where it can be preempted, until the
 * session has restored the original instructions in the copy (runtime/attach/moved_text.h). This needs no signal, so
 * nobody can notice it. Only if the session does not answer, or is ending, the process is stopped by SIGSTOP: to go on
 * would kill it.
 *
 * The program is also attached to the first instruction of each probed program. There a new process waits until the
 * session has attached it to the two functions in the libraries of this process. A waiting handler can block the
 * session: before Linux 6.13, a handler holds a lock that other sessions need to probe the same instruction, and those
 * hold a lock that all probes by perf events need (event_mutex). So if the session works on it for more than a second
 * there, the process is stopped, too.
 *
 * All programs of this file are linked. */
#include "../../runtime/plan/moved_text_event.h"
#include "../../runtime/plan/session_words.h"
#include "kernel_task.h"

extern u8 sonde_moved, sonde_control; /* maps, defined by the script's module */
extern struct sonde_session_words sonde_data;
extern const u32 sonde_rt_filter; /* 1: only processes in `sonde_targets` */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void*)5;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static long (*const bpf_send_signal)(u32 signal) = (void*)109;
static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;
static u64 (*const bpf_get_attach_cookie)(void* context) = (void*)174;
static long (*const bpf_copy_from_user_task)(void* dst, u32 size, const void* src, struct task_struct* task,
                                            u64 flags) = (void*)191;

#include "targets.h"

#define PROGRAM(section_name) __attribute__((section(section_name), used)) int
enum { MOVED_TEXT = 20 }; /* plan::MovedText */

static inline int is_stopping(void) { return *(volatile u64*)&sonde_data.state == SONDE_STOPPING; }

struct waiting {
    struct sonde_moved* moved;
    u64 until, until_in_silence, here;
};
static long look(u64 i, struct waiting* w)
{
    u8 byte;
    u64 state = *(volatile u64*)&w->moved->state;
    (void)i;
    if (state == SONDE_MOVED_RUNS ||
        bpf_ktime_get_ns() > (state == SONDE_MOVED_WAITS ? w->until_in_silence : w->until))
        return 1;
    /* Gives the processor to others, as in watch.bpf.c. It fails if the process is being killed. */
    return bpf_copy_from_user_task(&byte, 1, (void*)w->here, bpf_get_current_task_btf(), 0) != 0;
}

/* Fills in the copy. Returns 0 if the process need not wait: the call does not move the program's code. */
static inline int describe(u64* context, u64 at, struct sonde_moved* moved)
{
    enum { executable = 4, fixed = 2 }; /* PROT_EXEC, MREMAP_FIXED */
    struct mm_struct* mm = 0;
    u64 end = 0;
    if (at == SONDE_AT_BEGIN)
        return !is_stopping();
    moved->from = context[SONDE_REGS_ARGUMENT1 / 8];
    moved->size = context[SONDE_REGS_ARGUMENT2 / 8];
    if (at == SONDE_AT_MREMAP) {
        if (!(context[SONDE_REGS_ARGUMENT4 / 8] & fixed))
            return 0;
        moved->to = context[SONDE_REGS_ARGUMENT5 / 8];
    } else {
        if (!(context[SONDE_REGS_ARGUMENT3 / 8] & executable))
            return 0;
        moved->to = moved->from;
    }
    READ(mm, bpf_get_current_task()->mm);
    if (!mm)
        return 0;
    READ(moved->code, mm->start_code);
    READ(end, mm->end_code);
    return moved->to < end && moved->to + moved->size > moved->code;
}

PROGRAM("uprobe.s") sonde_text_moves(u64* context)
{
    enum { stop = 19, force_wakeup = 2 }; /* SIGSTOP, BPF_RB_FORCE_WAKEUP */
    u32 process = (u32)(bpf_get_current_pid_tgid() >> 32), key = process;
    u64 cookie = bpf_get_attach_cookie(context), at = cookie & ~(u64)SONDE_HOLDS_LOCK, now = bpf_ktime_get_ns(), state;
    u64 most = cookie & SONDE_HOLDS_LOCK ? SONDE_MOVED_MOST_WITH_LOCK_NS : SONDE_MOVED_MOST_NS;
    struct sonde_moved moved = {SONDE_MOVED_WAITS, 0, 0, 0, 0};
    u32 record[4] = {MOVED_TEXT, 0, 0, 0};
    if (at == SONDE_AT_BEGIN)
        key |= SONDE_MOVED_BEGINS;
    if ((sonde_rt_filter && !is_target(process)) || !describe(context, at, &moved) ||
        bpf_map_update_elem(&sonde_moved, &key, &moved, 0) != 0)
        return 0;
    struct waiting w = {bpf_map_lookup_elem(&sonde_moved, &key), now + most,
                        now + (at == SONDE_AT_BEGIN ? SONDE_MOVED_MOST_NS : most), context[SONDE_REGS_PC / 8]};
    if (!w.moved)
        return 0;
    bpf_ringbuf_output(&sonde_control, record, sizeof record, force_wakeup); /* wakes the session */
    /* A session that ends waits for this handler when it detaches it. */
    if (!is_stopping())
        LOOP(1 << 23, look, &w);
    state = __sync_lock_test_and_set(&w.moved->state, SONDE_MOVED_TIMED_OUT);
    if (state == SONDE_MOVED_RUNS)
        bpf_map_delete_elem(&sonde_moved, &key);
    else if (at != SONDE_AT_BEGIN || state == SONDE_MOVED_TAKEN)
        bpf_send_signal(stop);
    return 0;
}

/* The session runs this with the key of an element, its state and the new state. Returns 1 if the element has another
 * state: the process does not wait any more. */
PROGRAM("raw_tp/") sonde_text_state(u64* context)
{
    u32 key = (u32)context[0];
    u64 state = context[1];
    struct sonde_moved* moved = bpf_map_lookup_elem(&sonde_moved, &key);
    return moved && __sync_val_compare_and_swap(&moved->state, state, context[2]) != state;
}
