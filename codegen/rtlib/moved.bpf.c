/* Stops processes of the target that move their own code.
 *
 * The problem: some programs copy their code to large pages. The copy contains the breakpoints, but the kernel has
 * no uprobe for the copy's addresses, so the first hit would kill the program. The program then maps the copy over
 * the original code with mprotect() or mremap().
 *
 * The idea: this program is attached to both. It stops the process, and the session restores the original
 * instructions in the copy (runtime/attach/moved_text.h). All programs of this file are linked. */
#include "../../runtime/plan/moved_text_event.h"
#include "../../runtime/plan/session_words.h"
#include "kernel_task.h"

extern u8 sonde_targets, sonde_moved; /* maps, defined by the script's module */
extern struct sonde_session_words sonde_data;

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static long (*const bpf_send_signal)(u32 signal) = (void*)109;
static u64 (*const bpf_get_attach_cookie)(void* context) = (void*)174;

__attribute__((section("uprobe"), used)) int sonde_text_moves(u64* context) {
    enum { executable = 4, fixed = 2, stop = 19 }; /* PROT_EXEC, MREMAP_FIXED, SIGSTOP */
    u32 process = (u32)(bpf_get_current_pid_tgid() >> 32), index = process / 64;
    u64* targets = bpf_map_lookup_elem(&sonde_targets, &index);
    struct sonde_moved moved = {};
    struct mm_struct* mm = 0;
    u64 end = 0;
    if (!targets || !(*targets >> (process & 63) & 1) || *(volatile u64*)&sonde_data.state == SONDE_STOPPING)
        return 0;
    moved.from = context[SONDE_REGS_DI / 8];
    moved.size = context[SONDE_REGS_SI / 8];
    if (bpf_get_attach_cookie(context) == SONDE_AT_MREMAP) {
        if (!(context[SONDE_REGS_CX / 8] & fixed))
            return 0;
        moved.to = context[SONDE_REGS_R8 / 8];
    } else {
        if (!(context[SONDE_REGS_DX / 8] & executable))
            return 0;
        moved.to = moved.from;
    }
    READ(mm, bpf_get_current_task()->mm);
    if (!mm)
        return 0;
    READ(moved.code, mm->start_code);
    READ(end, mm->end_code);
    if (moved.to >= end || moved.to + moved.size <= moved.code)
        return 0;
    if (bpf_map_update_elem(&sonde_moved, &process, &moved, 0) == 0)
        bpf_send_signal(stop);
    return 0;
}
