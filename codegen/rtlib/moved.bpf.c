/* Holds processes that move, copy or drop their own code.
 *
 * The problem: some programs copy their code, for example to large pages. The copy contains the breakpoints, but the
 * kernel has no uprobe for the copy's addresses, so the first hit would kill the program. The program makes the copy
 * executable with mprotect() or mmap(), or maps it over the original code with mremap(). Other programs drop pages of
 * their code, and then the breakpoints are gone.
 *
 * The idea: this program is attached to mprotect() and mremap(), before the copy can run, and after the system calls
 * that drop pages or map a file. The thread waits in the handler, where it can be preempted. Meanwhile the session
 * restores the original instructions in the copy, or sets the breakpoints again (runtime/attach/moved_text.h). This
 * needs no signal, so nobody can notice it. Only if the memory replaces the program's code, and the session does not
 * answer or is ending, the process is stopped by SIGSTOP: to go on would kill it.
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
static long (*const bpf_find_vma)(struct task_struct* task, u64 address, void* callback, void* context,
                                  u64 flags) = (void*)180; /* 5.17, bpf: Introduce helper bpf_find_vma */

#include "own_stack.h"
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

struct of_file {
    u64 from, to, program;  /* the addresses, and the program's inode */
    u64 code, private_code; /* executable; and not shared */
    u64 is_program;         /* all of it maps the program's own file */
};
static inline long take_kind(struct task_struct* task, struct vm_area_struct* vma, struct of_file* out)
{
    enum { executable = 4, shared = 8 }; /* VM_EXEC, VM_SHARED */
    struct file* file = vma->vm_file;
    struct inode* inode = 0;
    (void)task;
    READ(inode, file->f_inode);
    out->is_program = inode && (u64)inode == out->program && vma->vm_start <= out->from && out->to <= vma->vm_end;
    if (vma->vm_file && (vma->vm_flags & executable)) {
        out->code = 1;
        out->private_code = !(vma->vm_flags & shared);
    }
    return 0;
}

/* Fills in the memory. Returns 0 if the thread need not wait. These cases matter:
 * - before memory becomes executable: it may be a copy of code. Without a copy it need not be stopped: if the memory
 *   still maps the program's file, the kernel knows its breakpoints.
 * - before memory is moved to the program's code
 * - after calls that mapped a file's code, that ended the writing of it, or dropped pages of it. Allocators drop pages
 *   of data often, so the kind of the mapping is looked up. While another thread maps memory, it is unknown: then only
 *   the program's own code matters. */
static inline int describe(volatile u64* context, u64 at, struct sonde_moved* moved)
{
    enum { writable = 2, executable = 4, fixed = 2 };    /* PROT_WRITE, PROT_EXEC, MREMAP_FIXED */
    enum { dont_need = 4, dont_need_locked = 24 };       /* MADV_DONTNEED, MADV_DONTNEED_LOCKED */
    /* Volatile, because the verifier refuses a load through an address that depends on `at`. */
    u64 before = context[SONDE_REGS_ARGUMENT1 / 8], kept = context[SONDE_REGS_KEPT1 / 8], second = context[SONDE_REGS_ARGUMENT2 / 8],
        third = context[SONDE_REGS_ARGUMENT3 / 8], fourth = context[SONDE_REGS_ARGUMENT4 / 8],
        fifth = context[SONDE_REGS_ARGUMENT5 / 8], result = context[SONDE_REGS_CALL_RESULT / 8], end = 0;
    int is_before = at == SONDE_AT_MPROTECT || at == SONDE_AT_MREMAP;
    u64 first = is_before ? before : kept;
    struct mm_struct* mm = 0;
    if (at == SONDE_AT_BEGIN)
        return !is_stopping();
    if (at == SONDE_AT_NO_CALL || (!is_before && result > -4096ull)) /* the call failed */
        return 0;
    if (at == SONDE_AFTER_MADVISE ? third != dont_need && third != dont_need_locked
                                  : at != SONDE_AT_MREMAP && !(third & executable))
        return 0;
    if (at == SONDE_AFTER_MPROTECT && (third & writable))
        return 0;
    moved->from = moved->to = at == SONDE_AFTER_MMAP ? result : first;
    moved->size = second;
    if (at == SONDE_AT_MREMAP) {
        if (!(fourth & fixed))
            return 0;
        moved->to = fifth;
    }
    READ(mm, bpf_get_current_task()->mm);
    if (!mm)
        return 0;
    READ(moved->code, mm->start_code);
    READ(end, mm->end_code);
    int is_own = moved->to < end && moved->to + moved->size > moved->code;
    struct of_file kind = {moved->from, moved->from + moved->size, program_of(bpf_get_current_task()), 0, 0, 0};
    if (is_before) {
        if (is_own && at == SONDE_AT_MPROTECT)
            bpf_find_vma(bpf_get_current_task_btf(), moved->from, (void*)take_kind, &kind, 0);
        moved->is_text = is_own && !kind.is_program;
        return is_own || at == SONDE_AT_MPROTECT;
    }
    if (bpf_find_vma(bpf_get_current_task_btf(), moved->from, (void*)take_kind, &kind, 0) != 0)
        return is_own;
    return at == SONDE_AFTER_MPROTECT ? kind.private_code != 0 : kind.code != 0;
}

PROGRAM("uprobe.s") sonde_text_moves(u64* context)
{
    enum { stop = 19, force_wakeup = 2 }; /* SIGSTOP, BPF_RB_FORCE_WAKEUP */
    u64 both = bpf_get_current_pid_tgid(), cookie = bpf_get_attach_cookie(context),
        at = cookie & ~(u64)SONDE_HOLDS_LOCK, now = bpf_ktime_get_ns(), state, silence;
    u32 process = (u32)(both >> 32), key = (u32)both;
    u64 most = cookie & SONDE_HOLDS_LOCK ? SONDE_MOVED_MOST_WITH_LOCK_NS : SONDE_MOVED_MOST_NS;
    struct sonde_moved moved = {SONDE_MOVED_WAITS, at, process, 0, 0, 0, 0, 0}, *last;
    u32 record[4] = {MOVED_TEXT, 0, 0, 0};
    if (at == SONDE_AT_BEGIN)
        key |= SONDE_MOVED_BEGINS;
    if ((sonde_rt_filter && !is_target(process)) || !describe(context, at, &moved)) {
        keep_own_stack(context);
        return 0;
    }
    /* If the session has not deleted the last element, it is stopped itself. */
    last = bpf_map_lookup_elem(&sonde_moved, &key);
    if (last && at != SONDE_AT_BEGIN && !moved.is_text)
        return 0;
    if (bpf_map_update_elem(&sonde_moved, &key, &moved, 0) != 0)
        return 0;
    silence = at == SONDE_AT_BEGIN ? SONDE_MOVED_MOST_NS : moved.is_text ? most : SONDE_MOVED_MOST_FOR_OTHERS_NS;
    struct waiting w = {bpf_map_lookup_elem(&sonde_moved, &key), now + most, now + silence,
                        context[SONDE_REGS_PC / 8]};
    if (!w.moved)
        return 0;
    bpf_ringbuf_output(&sonde_control, record, sizeof record, force_wakeup); /* wakes the session */
    /* A session that ends waits for this handler when it detaches it. */
    if (!is_stopping())
        LOOP(1 << 23, look, &w);
    state = __sync_lock_test_and_set(&w.moved->state, SONDE_MOVED_TIMED_OUT);
    if (state == SONDE_MOVED_RUNS)
        bpf_map_delete_elem(&sonde_moved, &key);
    else if (at == SONDE_AT_BEGIN ? state == SONDE_MOVED_TAKEN : moved.is_text != 0)
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
