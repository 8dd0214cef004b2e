/* Frames of interpreters in stacks, for all languages: their names, and the merge into user stacks
 * (runtime/plan/interpreted_stack.h).
 *
 * The interpreter's loop executes all functions of a language. So each call of the loop in the machine's stack, an
 * activation, is replaced by the functions that it executes. The functions of C between activations stay.
 *
 *     machine                         Python                     merged
 *     read                                                       read
 *     os_read                                                    os_read
 *     _PyEval_EvalFrameDefault        load, main                 load, main
 *     PyEval_EvalCode                                            PyEval_EvalCode
 *     main                                                       main
 *
 * The list of the language's frames, with its activations, comes from sonde_rt_follow_NAME() of the language.
 *
 * As in stack.bpf.c, all state that changes is in map memory. */
#include "interpreted_stack.h"

static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;

extern u8 sonde_frame_names; /* a map, defined by the script's module */

enum { NEW_ONLY = 1 }; /* BPF_NOEXIST */

/* ---- names ---- */

static long find_base(u64 i, struct sonde_interpreter_walk** w)
{
    u64 byte = (u8)(*w)->texts.file[masked(i, SONDE_INTERPRETED_FILE_BYTES - 1)];
    if (byte == '/')
        (*w)->texts.base = i + 1;
    return byte == 0;
}
/* Finds the number of the frame's names, or gives them one that depends on them. The element is created empty, because
 * a value must be in a map (until 6.2), and filled by the handler that has stored the hash. If it is interrupted,
 * another one fills it with the same texts. */
static long find_name(u64 i, struct sonde_interpreter_walk** walk)
{
    struct sonde_interpreter_walk* w = *walk;
    u32 key = (u32)(w->names.word[0] >> 32) + (u32)i * 0x10001;
    key = key < SONDE_INTERPRETED_FIRST_NAME ? key + SONDE_INTERPRETED_FIRST_NAME : key;
    bpf_map_update_elem(&sonde_frame_names, &key, sonde_rt_zeros, NEW_ONLY);
    struct sonde_interpreted_name* known = bpf_map_lookup_elem(&sonde_frame_names, &key);
    if (!known)
        return 1;
    u64 check = __sync_val_compare_and_swap(&known->check, 0, w->texts.check);
    if (check != 0 && check != w->texts.check)
        return 0;
    if (check == 0 || !known->file[0]) {
        known->base = w->texts.base;
        known->language = w->texts.language;
        copy_bytes((u8*)known->function, SONDE_INTERPRETED_FUNCTION_BYTES, (const u8*)w->texts.function);
        copy_bytes((u8*)known->file, SONDE_INTERPRETED_FILE_BYTES, (const u8*)w->texts.file);
    }
    w->number = key;
    return 1;
}
RT u64 sonde_rt_name_frame(struct sonde_interpreter_walk* w, u64 line)
{
    w->texts.base = 0;
    w->texts.language = (u32)w->language;
    LOOP(SONDE_INTERPRETED_FILE_BYTES, find_base, &w);
    w->texts.check = w->names.word[1] | 1;
    w->number = SONDE_INTERPRETED_UNNAMED + SONDE_INTERPRETED_KINDS * w->language;
    LOOP(8, find_name, &w);
    return sonde_interpreted_frame(w->number, line);
}

/* ---- the merge ---- */

/* In map memory there is one state of the walk; this one only leads to it. */
struct interpreted {
    struct sonde_stacks* stacks;
    struct sonde_interpreter_walk* w;
};
/* One step: chooses the next element of the merged stack. The elements from SONDE_STACK_MOST on are those of the language. */
static long choose(u64 i, struct interpreted* p)
{
    (void)i;
    struct sonde_stacks* s = p->stacks;
    struct sonde_interpreter_walk* w = p->w;
    struct sonde_machine* m = &s->machine;
    u64 n = masked(w->native, SONDE_STACK_MOST - 1), taken = masked(w->taken, SONDE_INTERPRETED_DEPTH - 1);
    u64 is_left = w->taken < s->interpreted.depth, out = masked(w->out, SONDE_STACK_MOST - 1);
    if (!w->is_inside && w->native >= s->user.depth && !is_left)
        return 1;
    if (w->out >= w->most) {
        w->is_cut = 1;
        return 1;
    }
    if (w->is_inside) {
        m->looked[out] = SONDE_STACK_MOST + taken;
        w->out = out + 1;
        w->taken = taken + 1;
        w->is_inside = !bit(w->last, taken) && w->taken < s->interpreted.depth;
        w->native += !w->is_inside && w->replaces;
        return 0;
    }
    /* The frames are known even if the machine's stack could not be unwound up to them. */
    if (w->native >= s->user.depth) {
        w->is_inside = 1;
        w->replaces = 0;
        return 0;
    }
    if (is_left && bit(w->loops, n)) {
        u64 entry = w->entry[taken], end = n + 1 < s->user.depth ? m->sp[masked(n + 1, SONDE_STACK_MOST - 1)] : ~0ull;
        if (entry < end) {
            w->is_inside = 1;
            /* Masked again: the verifier of Linux 6.12 has lost the bounds of `n` here. */
            w->replaces = entry == 1 || entry >= m->sp[masked(n, SONDE_STACK_MOST - 1)];
            return 0;
        }
    }
    w->native++;
    if (bit(w->removed, n))
        return 0;
    m->looked[out] = n;
    w->out = out + 1;
    return 0;
}
/* Moves the elements to their places, the outermost first: no element moves to a smaller index. */
static long move(u64 i, struct interpreted* p)
{
    struct sonde_stacks* s = p->stacks;
    u64 to = masked(p->w->out - 1 - i, SONDE_STACK_MOST - 1), from = s->machine.looked[to];
    u64 index = masked(from, SONDE_STACK_MOST - 1);
    if (from >= SONDE_STACK_MOST) {
        s->user.address[to] = s->interpreted.address[index];
        s->place[to].inode = s->place[to].owner = 0;
        s->place[to].place = s->interpreted.address[index];
        return 0;
    }
    s->user.address[to] = s->user.address[index];
    s->place[to] = s->place[index];
    return 0;
}
/* Replaces the activations of the loop in the user stack by the functions of the language. Does nothing if there are
 * none, or if they could not be followed. */
ONCE int sonde_rt_merge_interpreted(struct sonde_stacks* stacks, u64 most)
{
    if (!stacks || !stacks->walk.is_followed)
        return 0;
    struct interpreted p = {stacks, &stacks->walk};
    struct sonde_interpreter_walk* w = p.w;
    w->native = w->taken = w->replaces = w->out = w->is_cut = 0;
    w->is_inside = w->is_early;
    LOOP(4 * (u32)most + 4, choose, &p);
    LOOP((u32)w->out, move, &p);
    stacks->user.depth = w->out;
    if (w->is_cut || stacks->interpreted.state == SONDE_STACK_CUT)
        stacks->user.state = SONDE_STACK_CUT;
    w->loops[0] = w->loops[1] = w->is_followed = 0;
    if (w->language != SONDE_LANGUAGE_PYTHON)
        stacks->interpreted.state = SONDE_STACK_FRESH; /* otherwise it is Python's stack, for functions that show it alone */
    return 0;
}
