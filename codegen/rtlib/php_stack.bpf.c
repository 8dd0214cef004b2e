/* Follows the frames of PHP (runtime/plan/interpreted_stack.h).
 *
 * `executor_globals` leads to the current frame, and each frame (zend_execute_data) to its caller. Its function is
 * written in PHP or in C. A file's code outside of functions is a function without a name.
 *
 * An activation is a call of execute_ex(). The outermost frame of an activation has a flag. A function in C has a frame,
 * too, which belongs to the activation that calls it. It may have the flag, which then means nothing.
 *
 * A frame's line is that of its instruction (zend_op). A frame stores its instruction before it calls anything. In builds
 * of gcc, the loop keeps the frame and the instruction in two registers, so samples have the exact line. After an
 * exception, the frame's instruction is one outside of the function. The one before is in `executor_globals`.
 *
 * A generator that delegates to another one (`yield from`) has a placeholder among the frames, which leads to the
 * outermost generator of the chain. The innermost one executes. Its frame comes before the placeholder, and those of the
 * others are in its place.
 *
 * Everything that is read is checked, because the interpreter may just be changing it. As in stack.bpf.c, all state that
 * changes is in map memory. */
#include "interpreted_stack.h"

#include "../../runtime/plan/php.h"

static long (*const bpf_probe_read_user_str)(void* dst, u32 size, const void* address) = (void*)114;

extern u8 sonde_php; /* a map, defined by the script's module */

enum {
    FRAME_BYTES = 56, FUNCTION_BYTES = 24, CODE_BYTES = 176,
    INSTRUCTION_BYTES = 32, INSTRUCTION_LINE = 24,
    CLASS_NAME = 8, TEXT_HEAD = 24, TEXT_TYPE = 6, OBJECT_TYPE = 8,
    FRAME_ENDS = 1 << 17, /* ZEND_CALL_TOP */
    FUNCTION_IN_C = 1, FUNCTION_OF_USER = 2, EVALUATED_CODE = 4,
    MOST_CODE = 1 << 24,    /* instructions of a function */
    MOST_GENERATORS = 64,   /* that delegate to each other */
    MOST_OTHERS = 64,       /* frames that are not shown */
    NAME_MASK = 255,
};
_Static_assert(8 * SONDE_PHP_TEXT_WORDS >= NAME_MASK + SONDE_INTERPRETED_FILE_BYTES, "the end of a text");

struct php {
    struct sonde_stacks* stacks;
    struct sonde_php_walk* w;
    const struct sonde_php* layout;
    struct sonde_frame_cache* cache;
};
static inline u64 word_at(struct sonde_php_walk* w, u64 offset)
{
    return w->words[masked(offset >> 3, SONDE_PHP_WALK_WORDS - 1)];
}
static inline u64 read_words(struct sonde_php_walk* w, u32 size, u64 address)
{
    return bpf_probe_read_user(w->words, size, (const void*)address) == 0;
}

/* ---- names ---- */

static inline void clear_text(struct sonde_php_walk* w)
{
    __builtin_memset(w->text, 0, sizeof w->text);
    w->text_size = 0;
}
/* Appends at most `most` bytes of a text (zend_string): its beginning up to a NUL, or its end. The name of an anonymous
 * class has a NUL and then the place of its definition, which PHP's own messages do not show. */
static inline u64 append_text(struct sonde_php_walk* w, u64 address, u64 most, u64 is_end)
{
    if (!read_words(w, TEXT_HEAD, address) || (w->words[0] >> 32 & 15) != TEXT_TYPE)
        return 0;
    u64 skipped = is_end && w->words[2] > most ? w->words[2] - most : 0;
    long size = bpf_probe_read_user_str((u8*)w->text + masked(w->text_size, NAME_MASK), (u32)most + 1,
                                        (const void*)(address + TEXT_HEAD + skipped));
    if (size <= 0)
        return 0;
    w->text_size += (u64)size - 1;
    return 1;
}
static long mix_text(u64 i, struct sonde_php_walk** walk)
{
    struct sonde_php_walk* w = *walk;
    sonde_identify(&w->all.names, w->text[masked(i, SONDE_PHP_TEXT_WORDS - 1)]);
    return 0;
}
static inline void mix(struct php* p)
{
    sonde_identify(&p->w->all.names, p->w->text_size);
    LOOP((u32)(p->w->text_size + 7) / 8, mix_text, &p->w);
}
/* Reads the function's name with that of its class, and adds it to the identity of the names. */
RT u64 sonde_rt_read_php_name(struct php* p)
{
    struct sonde_php_walk* w = p->w;
    enum { MOST = SONDE_INTERPRETED_FUNCTION_BYTES - 1 };
    clear_text(w);
    if (w->scope) {
        if (!append_text(w, read_user_word(w->scope + CLASS_NAME), MOST, 0))
            return 0;
        u64 at = masked(w->text_size, NAME_MASK);
        ((u8*)w->text)[at] = ((u8*)w->text)[at + 1] = ':';
        w->text_size += 2;
    }
    if (w->name) {
        if (!append_text(w, w->name, MOST, 0))
            return 0;
    } else {
        static const char outside[] = "<main>"; /* of functions */
        copy_bounded((u8*)w->text + masked(w->text_size, NAME_MASK), sizeof outside, (const u8*)outside);
        w->text_size += sizeof outside - 1;
    }
    mix(p);
    copy_bounded((u8*)w->all.texts.function, SONDE_INTERPRETED_FUNCTION_BYTES, (const u8*)w->text);
    return 1;
}
/* The same for the file, from which the end is kept. */
RT u64 sonde_rt_read_php_file(struct php* p)
{
    struct sonde_php_walk* w = p->w;
    clear_text(w);
    if (!append_text(w, w->path, SONDE_INTERPRETED_FILE_BYTES - 1, 1))
        return 0;
    mix(p);
    copy_bounded((u8*)w->all.texts.file, SONDE_INTERPRETED_FILE_BYTES, (const u8*)w->text);
    return 1;
}

/* ---- the position in a file ---- */

/* The instruction of the innermost frame, if the loop has it in a register. */
static inline u64 instruction_in_register(struct php* p)
{
    u64 frame = 0, instruction = 0;
    const u8* registers = (const u8*)bpf_task_pt_regs(bpf_get_current_task_btf());
    bpf_probe_read_kernel(&frame, sizeof frame, registers + SONDE_REGS_PHP_FRAME);
    bpf_probe_read_kernel(&instruction, sizeof instruction, registers + SONDE_REGS_PHP_INSTRUCTION);
    return frame == p->w->frame ? instruction : 0;
}
/* The line of an instruction; 0: it is not one of the function's. */
static inline u64 line_of(u64 code, u64 count, u64 instruction)
{
    u32 line = 0;
    u64 place = instruction - code;
    if (count < MOST_CODE && place < count * INSTRUCTION_BYTES && place % INSTRUCTION_BYTES == 0)
        bpf_probe_read_user(&line, sizeof line, (const void*)(instruction + INSTRUCTION_LINE));
    return line;
}
/* Finds the file and the line of the frame's code. */
RT u64 sonde_rt_php_position(struct php* p)
{
    struct sonde_php_walk* w = p->w;
    const struct sonde_php* at = p->layout;
    if (!read_words(w, CODE_BYTES, w->function))
        return 0;
    u64 code = word_at(w, at->code), count = (u32)word_at(w, at->code_count), line = 0;
    w->path = word_at(w, at->code_file);
    if (!p->stacks->interpreted.depth)
        line = line_of(code, count, instruction_in_register(p));
    if (!line)
        line = line_of(code, count, w->instruction);
    if (!line)
        line = line_of(code, count, read_user_word(w->all.base + at->globals + at->globals_thrown));
    w->line = line;
    return 1;
}

/* ---- the list of frames ---- */

/* The word of `frame`. */
RT u64 sonde_rt_php_frame(struct php* p)
{
    struct sonde_php_walk* w = p->w;
    w->line = w->path = w->is_code = 0;
    if (!read_words(w, FUNCTION_BYTES, w->function))
        return 0;
    u64 kind = w->words[0] & 255;
    w->name = w->words[1];
    w->scope = w->words[2];
    w->is_code = kind == FUNCTION_OF_USER || kind == EVALUATED_CODE;
    if (!w->is_code && kind != FUNCTION_IN_C)
        return 0;
    w->all.names = (struct sonde_identity){};
    sonde_identify(&w->all.names, SONDE_LANGUAGE_PHP);
    w->all.texts.file[0] = 0;
    if (!sonde_rt_read_php_name(p) || (w->is_code && (!sonde_rt_php_position(p) || !sonde_rt_read_php_file(p))))
        return 0;
    return word_of_frame(p->cache, &w->all, w->line);
}
/* One step from the outermost generator of a chain towards the one whose frame was taken last. */
static long find_delegating(u64 i, struct php* p)
{
    (void)i;
    struct sonde_php_walk* w = p->w;
    u64 to = read_user_word(w->next + p->layout->generator_parent);
    if (to && read_user_word(to + p->layout->generator_frame) != w->taken) {
        w->next = to;
        return 0;
    }
    w->frame = to ? read_user_word(w->next + p->layout->generator_frame) : 0;
    return 1;
}
/* Goes on to the generator that delegates to the one whose frame was taken last. */
RT u64 sonde_rt_next_php_generator(struct php* p)
{
    struct sonde_php_walk* w = p->w;
    w->frame = 0;
    w->next = w->generator;
    if (w->taken != read_user_word(w->generator + p->layout->generator_frame))
        LOOP(MOST_GENERATORS, find_delegating, p);
    if (!w->frame) {
        w->frame = w->behind;
        w->generator = 0;
    }
    return 0;
}
static inline void end_if_due(struct php* p)
{
    if (p->w->ends)
        end_activation(p->stacks, 1);
    p->w->ends = 0;
}
static long take_frame(u64 i, struct php* p)
{
    (void)i;
    struct sonde_php_walk* w = p->w;
    struct sonde_stack* out = &p->stacks->interpreted;
    if (!w->frame) {
        end_if_due(p);
        out->state = SONDE_STACK_WHOLE;
        return 1;
    }
    if (!read_words(w, FRAME_BYTES, w->frame)) {
        out->state = SONDE_STACK_LOST;
        return 1;
    }
    u64 object = w->words[4], flags = (u32)w->words[5], caller = w->words[6];
    w->instruction = w->words[0];
    w->function = w->words[3];
    if (!w->function) {
        u64 is_placeholder = (flags & 255) == OBJECT_TYPE && w->frame == object + p->layout->generator_placeholder;
        w->behind = w->frame = caller;
        w->generator = is_placeholder ? object : 0;
        if (is_placeholder)
            sonde_rt_next_php_generator(p);
        return 0;
    }
    if (!w->generator)
        end_if_due(p);
    if (out->depth >= w->all.most)
        return 1; /* the state is SONDE_STACK_CUT */
    u64 word = sonde_rt_php_frame(p);
    /* A fiber's outermost frame has a function in C without a name. */
    if (!word || w->is_code || w->name)
        add_frame(p->stacks, word ? word : unnamed_frame(SONDE_LANGUAGE_PHP, SONDE_INTERPRETED_UNREADABLE, 0));
    w->ends |= w->is_code && (flags & FRAME_ENDS);
    w->taken = w->frame;
    w->frame = caller;
    if (w->generator)
        sonde_rt_next_php_generator(p);
    return 0;
}
/* Follows the frames of PHP, if it is PHP's loop that is in the user stack. */
ONCE int sonde_rt_follow_php(struct sonde_stacks* stacks, u64 most)
{
    u32 none = 0;
    if (!stacks || stacks->walk.language != SONDE_LANGUAGE_PHP)
        return 0;
    u32 element = (u32)stacks->walk.element;
    struct php p = {.stacks = stacks, .w = &stacks->php};
    p.layout = bpf_map_lookup_elem(&sonde_php, &element);
    p.cache = bpf_map_lookup_elem(&sonde_frame_cache, &none);
    if (!p.layout || !p.cache || !p.layout->version)
        return 0;
    begin_frames(stacks, most);
    p.w->ends = p.w->generator = 0;
    p.w->frame = read_user_word(stacks->walk.base + p.layout->globals + p.layout->globals_frame);
    if (!p.w->frame)
        return 0;
    stacks->interpreted.state = SONDE_STACK_CUT;
    LOOP((u32)most + MOST_OTHERS, take_frame, &p);
    /* PHP adds a frame just before it calls execute_ex(), and removes the frame before execute_ex() returns. */
    stacks->walk.is_early = both_are_whole(stacks) && loops_of(&stacks->walk) < stacks->walk.activations;
    drop_idle_loop(stacks);
    stacks->walk.is_followed = 1;
    return 0;
}
