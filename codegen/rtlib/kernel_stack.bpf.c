/* Kernel stacks. The kernel unwinds them; this removes the frames between the probed function and the handler.
 *
 * A stack from bpf_get_stack() begins in the kernel's own code for tracing. At a trampoline on vfs_read(), for example:
 *
 *     the handler
 *     the trampoline
 *     vfs_read+0x4        the probed function
 *     ksys_read
 *     ...
 *
 * The script wants to see vfs_read() first, as if the probe did not exist. For a function, look() searches a return
 * address within the first 16 bytes after the function's address, because the trampoline is called there. For
 * tracepoints, it skips the functions that lead to the handler, whose ranges the runtime has found in /proc/kallsyms
 * (struct sonde_dispatch).
 *
 * The first element of the array is left free. At a function's return, the function itself is no longer on the stack,
 * and its address is put there.
 *
 * With a link register, a breakpoint at a function's first instruction lacks a frame: the return address is in the
 * register, and the kernel unwinds by frame pointers. The second address is then that of the caller's caller:
 *
 *     vfs_read+0x0
 *     (ksys_read)         missing
 *     __arm64_sys_read
 *
 * The handler passes the register, and it is inserted: the probed function moves to the free element. */
#include "rt.h"

#include "../../arch/host/pt_regs.h"
#include "../../runtime/plan/stack.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
/* 4.18, bpf: add bpf_get_stack helper; since 5.5 in raw tracepoints and trampolines */
static long (*const bpf_get_stack)(void* context, void* buffer, u32 size, u64 flags) = (void*)67;

extern u8 sonde_dispatch; /* a map, defined by the script's module */

enum { SONDE_FUNCTION_MOST = 64 << 10 }; /* bytes: larger functions do not call themselves */

struct search {
    struct sonde_stack* stack;
    struct sonde_dispatch* dispatch;
    u64 first;   /* index of the first address that counts */
    u64 found;   /* found the probed function, or its caller */
    u64 word[2]; /* one of these is a trampoline's return address */
    u64 own;     /* index of the first address in the kernel itself, not in a module or BPF program; 0 if not found */
};
static long look(u64 n, struct search* s)
{
    u64 i = n + 1;
    u64 address = s->stack->address[i & (SONDE_STACK_MOST - 1)];
    if (s->stack->pc) {
        /* The trampoline is called by the function's first instruction, or by the second one after endbr64. */
        u64 called = address - s->stack->pc < 16, jumped = address == s->word[0] || address == s->word[1];
        if (!called && !(jumped && address)) {
            if (s->own == 0 && address < SONDE_MODULES)
                s->own = i;
            return 0;
        }
        /* Otherwise the function has jumped to the trampoline (seen on 7.2), which returns to the function's caller. */
        s->first = called ? i : i - 1;
        s->found = 1;
        return 1;
    }
    for (u32 k = 0; k < 3; k++)
        if (address >= s->dispatch->range[k][0] && address < s->dispatch->range[k][1])
            s->first = i + 1;
    return 0;
}

/* Reads a trampoline's frame. It contains the function's arguments, which are the handler's context; then the
 * result, if a handler needs it; then fp, which points to the previous frame, and the return address
 * (arch/x86/net/bpf_jit_comp.c, arch_prepare_bpf_trampoline). */
static inline void read_frame(struct search* s, void* context)
{
    struct sonde_stack* stack = s->stack;
    u64 words = stack->sp - 2;
    if (stack->sp < 2)
        return;
    /* Through map memory it becomes a number; programs must not compute with the pointer. */
    *(volatile u64*)&stack->depth = (u64)context;
    u64 frame = *(volatile u64*)&stack->depth;
    bpf_probe_read_kernel(s->word, sizeof s->word, (void*)(frame + 8 * (words + 1)));
}

/* Inserts the caller after the probed function, unless the kernel has found it already. Both addresses are equal
 * without that, too, if a function calls itself at one place only. */
static inline void insert_caller(struct search* s, u64 caller)
{
    u64 first = masked(s->first, SONDE_DISPATCH_MOST);
    u64 function = s->stack->pc, calls_itself = caller - function < SONDE_FUNCTION_MOST;
    if (!caller || first == 0 || (s->stack->address[first + 1] == caller && !calls_itself))
        return;
    s->stack->address[first] = caller;
    s->first = first - 1;
}

/* The stack with at most `most` addresses. Unwinds it unless that has happened already. */
RT struct sonde_stack* sonde_rt_kernel_stack(void* context, struct sonde_stack* stack, u64 most, u64 row)
{
    if (stack->state == SONDE_STACK_FRESH) {
        u32 index = row;
        struct search s = {stack, bpf_map_lookup_elem(&sonde_dispatch, &index), 1, 0, {}, 0};
        read_frame(&s, context);
        /* The first element remains free for a function that has returned. */
        long size = stack->sp ? bpf_get_stack(context, &stack->address[1], 8 * (SONDE_STACK_MOST - 1), 0) : 0;
        u64 frames = size > 0 ? (u64)size / 8 : 0, count = frames + 1;
        if (s.dispatch)
            LOOP(frames < SONDE_DISPATCH_MOST ? frames : SONDE_DISPATCH_MOST, look, &s);
        if (stack->pc && stack->sp && !s.found)
            s.first = stack->fp ? 0 : 1;
        /* Another return probe of the same function has replaced the return address; then the unwinder's addresses
         * are right. */
        if (stack->sp > 1 && !s.found && s.own)
            s.first = s.own - 1;
        insert_caller(&s, stack->from);
        u64 first = masked(s.first, SONDE_DISPATCH_MOST);
        if (stack->pc && count > first)
            stack->address[first] = stack->pc;
        u64 depth = count > first ? count - first : 0;
        struct sonde_stack* out = (void*)stack + 8 * first;
        u64 cut = depth > most;
        stack->state = SONDE_STACK_WHOLE;
        stack->pc = first;
        out->state = cut ? SONDE_STACK_CUT : SONDE_STACK_WHOLE;
        out->depth = cut ? most : depth;
    }
    return (void*)stack + 8 * (stack->pc & SONDE_DISPATCH_MOST);
}
