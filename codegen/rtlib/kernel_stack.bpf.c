/* Kernel stacks: the kernel walks them itself. What leads from the probed place to the handler is left out: trampolines,
 * the dispatch of tracepoints, the handler. */
#include "rt.h"

#include "../../runtime/symbols/stack.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
/* 4.18, bpf: add bpf_get_stack helper; in raw tracepoints and trampolines since 5.5 */
static long (*const bpf_get_stack)(void* context, void* buffer, u32 size, u64 flags) = (void*)67;

extern u8 sonde_dispatch; /* a map, defined by the script's module */

struct search {
    struct sonde_stack* stack;
    struct sonde_dispatch* dispatch;
    u64 first; /* of the addresses that count */
    u64 found; /* the probed function is among them */
};
static long look(u64 i, struct search* s)
{
    u64 address = s->stack->address[i & (SONDE_STACK_MOST - 1)];
    /* The call of a trampoline is the function's first instruction, or the one behind endbr64. */
    if (s->stack->rip) {
        if (address - s->stack->rip >= 16)
            return 0;
        s->first = i;
        s->found = 1;
        return 1;
    }
    for (u32 n = 0; n < 3; n++)
        if (address >= s->dispatch->range[n][0] && address < s->dispatch->range[n][1])
            s->first = i + 1;
    return 0;
}

/* The stack with its addresses, of which there are at most `most`; unwound unless that is done. */
RT struct sonde_stack* sonde_rt_kernel_stack(void* context, struct sonde_stack* stack, u64 most, u64 row)
{
    if (stack->state == SONDE_STACK_FRESH) {
        u32 index = row;
        struct search s = {stack, bpf_map_lookup_elem(&sonde_dispatch, &index), 1, 0};
        /* The first place is kept for a function that has been left. */
        long size = stack->rsp ? bpf_get_stack(context, &stack->address[1], 8 * (SONDE_STACK_MOST - 1), 0) : 0;
        u64 count = size > 0 ? (u64)size / 8 + 1 : 1;
        if (s.dispatch && count > 1)
            LOOP(SONDE_DISPATCH_MOST, look, &s);
        if (stack->rip && stack->rsp && !s.found)
            s.first = stack->rbp ? 0 : 1;
        u64 first = s.first & SONDE_DISPATCH_MOST;
        if (stack->rip && count > first)
            stack->address[first] = stack->rip;
        u64 depth = count > first ? count - first : 0;
        struct sonde_stack* out = (void*)stack + 8 * first;
        u64 cut = depth > most;
        stack->state = SONDE_STACK_WHOLE;
        stack->rip = first;
        out->state = cut ? SONDE_STACK_CUT : SONDE_STACK_WHOLE;
        out->depth = cut ? most : depth;
    }
    return (void*)stack + 8 * (stack->rip & SONDE_DISPATCH_MOST);
}
