/* What the routines that follow the frames of an interpreter share (runtime/plan/interpreted_stack.h). */
#pragma once

#include "user_stack.h"

extern u8 sonde_frame_cache; /* a map, defined by the script's module */

static inline u64 read_user_word(u64 address) {
    u64 value = 0;
    bpf_probe_read_user(&value, sizeof value, (const void*)address);
    return value;
}
static inline void set_bit(u64* bits, u64 n) { bits[masked(n >> 6, 1)] |= 1ull << (n & 63); }
static inline void clear_bit(u64* bits, u64 n) { bits[masked(n >> 6, 1)] &= ~(1ull << (n & 63)); }
static inline u64 bit(const u64* bits, u64 n) { return bits[masked(n >> 6, 1)] >> (n & 63) & 1; }

/* The word for a frame that has no name (SONDE_INTERPRETED_UNREADABLE ...). */
static inline u64 unnamed_frame(u64 language, u64 kind, u64 line) {
    return sonde_interpreted_frame(kind + SONDE_INTERPRETED_KINDS * language, line);
}

/* ---- words of frames that earlier hits have met, by the identity of their contents ---- */

static inline u64 mark_of_frame(struct sonde_interpreter_walk* w, u64 frame) {
    return w->contents.word[0] ^ frame * 0x9e3779b97f4a7c15ull;
}
static inline u64 index_of_frame(struct sonde_interpreter_walk* w) {
    return masked(w->contents.word[1] >> 40, SONDE_INTERPRETED_FRAMES - 1);
}
/* The word of the frame with these contents; 0: no hit has met it. */
static inline u64 known_frame(struct sonde_frame_cache* cache, struct sonde_interpreter_walk* w) {
    u64 index = index_of_frame(w), frame = cache->frame[index].frame;
    return frame && cache->frame[index].mark == mark_of_frame(w, frame) ? frame : 0;
}
static inline void keep_frame(struct sonde_frame_cache* cache, struct sonde_interpreter_walk* w, u64 frame) {
    u64 index = index_of_frame(w);
    if (!frame || sonde_interpreted_name_of(frame) < SONDE_INTERPRETED_FIRST_NAME)
        return;
    cache->frame[index].frame = frame;
    cache->frame[index].mark = mark_of_frame(w, frame);
}

/* Stores the names in `texts`, whose identity is in `names`, unless an earlier frame has done so. Returns the word of
 * the frame with these names and this line. */
u64 sonde_rt_name_frame(struct sonde_interpreter_walk* w, u64 line);

/* The word of the frame with this line, and with the texts whose identity is in `names`. */
static inline u64 word_of_frame(struct sonde_frame_cache* cache, struct sonde_interpreter_walk* w, u64 line) {
    w->contents = w->names;
    sonde_identify(&w->contents, line);
    u64 frame = known_frame(cache, w);
    if (frame)
        return frame;
    frame = sonde_rt_name_frame(w, line);
    keep_frame(cache, w, frame);
    return frame;
}

/* ---- activations ---- */

/* Begins a list of frames. */
static inline void begin_frames(struct sonde_stacks* stacks, u64 most) {
    struct sonde_interpreter_walk* w = &stacks->walk;
    stacks->interpreted.depth = w->begin = w->activations = w->last[0] = w->last[1] = 0;
    w->removed[0] = w->removed[1] = w->is_early = 0;
    w->most = most;
}
/* Adds a frame. It may be the first one of an activation, whose address in the machine's stack is not known yet. */
static inline void add_frame(struct sonde_stacks* stacks, u64 word) {
    struct sonde_interpreter_walk* w = &stacks->walk;
    u64 depth = masked(stacks->interpreted.depth, SONDE_INTERPRETED_DEPTH - 1);
    stacks->interpreted.address[depth] = word;
    if (depth == w->begin)
        w->entry[depth] = 1;
    stacks->interpreted.depth = depth + 1;
}
/* Ends an activation, to which the address `entry` in the machine's stack belongs; 1: unknown. */
static inline void end_activation(struct sonde_stacks* stacks, u64 entry) {
    struct sonde_interpreter_walk* w = &stacks->walk;
    u64 depth = stacks->interpreted.depth;
    if (depth == w->begin)
        return;
    w->entry[masked(w->begin, SONDE_INTERPRETED_DEPTH - 1)] = entry;
    set_bit(w->last, depth - 1);
    w->begin = depth;
    w->activations++;
}
static inline u64 loops_of(struct sonde_interpreter_walk* w) {
    return (u64)__builtin_popcountll(w->loops[0]) + (u64)__builtin_popcountll(w->loops[1]);
}
static inline u64 both_are_whole(struct sonde_stacks* stacks) {
    return stacks->user.state == SONDE_STACK_WHOLE && stacks->interpreted.state == SONDE_STACK_WHOLE;
}
/* If the user stack has more calls of the loop than there are activations, the innermost one has not begun, or has
 * ended: it stands for no function of the language. Nothing but the number shows this. The loop can have called
 * functions at its end. */
static inline void drop_idle_loop(struct sonde_stacks* stacks) {
    struct sonde_interpreter_walk* w = &stacks->walk;
    u64 word = w->loops[0] ? 0 : 1;
    if (both_are_whole(stacks) && loops_of(w) > w->activations)
        w->loops[word] &= w->loops[word] - 1;
}
