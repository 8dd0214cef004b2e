/* Follows the frames of Ruby (runtime/plan/interpreted_stack.h).
 *
 * The thread-local variable `ruby_current_ec` leads to the context of the thread, or of the fiber that it executes. Each
 * context has its own stack. Frames (rb_control_frame_t) are at its low end, the innermost first. Flags in a frame's
 * environment distinguish these kinds:
 *
 * * A frame with code and a position in it is a method, a block, a class' body and so on. Its code has a label, a file
 *   and a table of lines.
 * * A frame of a method in C has neither. Its name is that of the method, and its file and line are those of the next
 *   frame with code: this is also what Ruby's own backtraces show.
 * * All others are not shown: a block in C, and the outermost frame of each stack, which executes nothing.
 *
 * From Ruby 3.4 on, names have a class: `Shop#price`, `block in Shop#price`, `Shop.open`. It is the class that has the
 * method. The method is in the frame's environment or, for a block, in one of those around it. The label of the code has
 * no class. It ends with the name of the method, before which the class is put. Code of a `rescue` or an `ensure` has a
 * frame of its own, which stands for the next one, too.
 *
 * An activation is a call of rb_vm_exec(), which calls the function that executes instructions (the core). Both are
 * marked. The frames of the activation replace rb_vm_exec(), and the core is removed. The outermost frame of an
 * activation has a flag.
 *
 * The table of lines has an index. For a position in the code, it has the number of the table's entries up to there. The
 * first positions have fields of 7 bits. For the others, a block has a bit for each of 512 positions, and the number at
 * the block's beginning.
 *
 * Everything that is read is checked, because the interpreter may just be changing it: types of objects, and that frames
 * are in the stack. As in stack.bpf.c, all state that changes is in map memory. */
#include "interpreted_stack.h"

#include "../../runtime/plan/ruby.h"

extern u8 sonde_ruby; /* a map, defined by the script's module */

enum {
    WINDOW = 8 * SONDE_RUBY_WALK_WORDS,
    OBJECT_BYTES = 40, /* of a text, an array, or one of the interpreter's own objects */
    BODY_BYTES = 176,  /* of a code's body: all members that are read */
    CLASS_BYTES = 160, /* the same of a class */
    MOST_OTHERS = 256, /* frames that are not shown */
    MOST_AROUND = 64,  /* blocks, or pieces of code, that are in each other */
    STACK_MOST = 1 << 20,
    LINES_MOST = 1 << 20,
    /* Types of objects, in the lower 5 bits of their first word; of the interpreter's own, in 4 bits from 12 on. */
    CLASS = 2, MODULE = 3, TEXT = 5, ARRAY = 7,
    INTERNAL = 26, INTERNAL_VARIABLE = 2, INTERNAL_METHOD = 6, INTERNAL_CODE = 7,
    IS_APART = 1 << 13,     /* of a text: not in the object; of an array the opposite */
    IS_SINGLETON = 1 << 13, /* of a class, from 3.4 on */
    TEXT_SIZE = 16, ARRAY_BEGIN = 16, ARRAY_SIZE_BITS = 127, /* of an array in the object; 3.1 uses two of the bits */
    CODE_METHOD = 1, CODE_RESCUE = 4, CODE_ENSURE = 5, CODE_EVALUATED = 6,
    ELEMENT_BLOCK = 512, /* symbols in each array of the table of symbols; each has two elements */
};
/* Flags of an environment. */
enum { FRAME_KIND = 0x7fff0001, FRAME_OF_C = 0x55550001, FRAME_FINISHES = 0x20, ENVIRONMENT_IS_OUTERMOST = 2 };

struct ruby {
    struct sonde_stacks* stacks;
    struct sonde_ruby_walk* w;
    const struct sonde_ruby* layout;
    struct sonde_frame_cache* cache;
};
static inline u64 word_at(struct sonde_ruby_walk* w, u64 offset)
{
    return w->words[masked(offset >> 3, SONDE_RUBY_WALK_WORDS - 1)];
}
static inline u32 number_at(struct sonde_ruby_walk* w, u64 offset)
{
    return (u32)(word_at(w, offset) >> 8 * (offset & 4));
}
static inline u64 read_words(struct sonde_ruby_walk* w, u32 size, u64 address)
{
    return bpf_probe_read_user(w->words, size, (const void*)address) == 0;
}
static inline u64 has_type(struct sonde_ruby_walk* w, u64 type) { return (w->words[0] & 31) == type; }
static inline u64 is_internal(struct sonde_ruby_walk* w, u64 type)
{
    return has_type(w, INTERNAL) && (w->words[0] >> 12 & 15) == type;
}

/* ---- texts ---- */

/* Returns element `n` of an array, or 0 if the array is shorter. Short arrays have their elements in the object. */
static inline u64 element_of(struct sonde_ruby_walk* w, u64 array, u64 n)
{
    if (!read_words(w, OBJECT_BYTES, array) || !has_type(w, ARRAY))
        return 0;
    if (w->words[0] & IS_APART)
        return n < (w->words[0] >> 15 & ARRAY_SIZE_BITS) ? read_user_word(array + ARRAY_BEGIN + 8 * n) : 0;
    return n < w->words[2] ? read_user_word(w->words[4] + 8 * n) : 0;
}
static inline u64 is_found_text(struct ruby* p, u64 address)
{
    struct sonde_ruby_walk* w = p->w;
    if (!read_words(w, OBJECT_BYTES, address) || !has_type(w, TEXT))
        return 0;
    u64 is_apart = w->words[0] & IS_APART, has_size = is_apart || p->layout->text_bytes > TEXT_SIZE;
    w->text_size = has_size ? w->words[2] : w->words[0] >> 14 & 31;
    w->text = is_apart ? w->words[3] : address + p->layout->text_bytes;
    return 1;
}
static long mix_text(u64 i, struct sonde_ruby_walk** walk)
{
    struct sonde_ruby_walk* w = *walk;
    u64 left = w->text_size - 8 * i;
    u64 word = ((u64*)&w->all.texts)[masked(w->index + i, 63)], bits = left < 8 ? 64 - 8 * left : 0;
    sonde_identify(&w->all.names, word << (bits & 63) >> (bits & 63));
    return 0;
}
enum {
    FUNCTION_WORD = __builtin_offsetof(struct sonde_interpreted_name, function) / 8,
    FILE_WORD = __builtin_offsetof(struct sonde_interpreted_name, file) / 8,
};
_Static_assert(sizeof(struct sonde_interpreted_name) <= 8 * 64, "the mask of mix_text()");
static inline void mix_name(struct ruby* p, u64 word)
{
    p->w->index = word;
    sonde_identify(&p->w->all.names, p->w->text_size);
    LOOP((u32)(p->w->text_size + 7) / 8, mix_text, &p->w);
}
/* Appends the first `most` bytes of a text to the function's name. */
static inline u64 append_text(struct ruby* p, u64 address, u64 most)
{
    enum { MOST = SONDE_INTERPRETED_FUNCTION_BYTES - 1 };
    struct sonde_ruby_walk* w = p->w;
    if (!is_found_text(p, address))
        return 0;
    u64 size = w->text_size < most ? w->text_size : most, at = masked(w->name_size, 255);
    size = masked(size < MOST ? size : MOST, 255);
    /* A name that is too long goes on in the file's place for a moment. */
    if (bpf_probe_read_user(w->all.texts.function + at, (u32)size, (const void*)w->text) != 0)
        return 0;
    w->name_size = at + size < MOST ? at + size : MOST;
    return 1;
}
/* Finds the name of the class or module that has the frame's method. Returns the character between both names; 0: the
 * class has no lasting name. */
RT u64 sonde_rt_ruby_class(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    const struct sonde_ruby* at = p->layout;
    if (!w->owner || !read_words(w, CLASS_BYTES, w->owner))
        return 0;
    u64 is_singleton = has_type(w, CLASS) && w->words[0] & IS_SINGLETON;
    if (is_singleton && !read_words(w, CLASS_BYTES, word_at(w, at->class_attached)))
        return 0;
    u64 is_named = word_at(w, at->class_is_named) >> 8 * (at->class_is_named & 7) & 1;
    if ((!has_type(w, CLASS) && !has_type(w, MODULE)) || !is_named)
        return 0;
    w->owner = word_at(w, at->class_name);
    return is_singleton ? '.' : '#';
}
/* Reads the function's name, from its beginning, and adds it to the identity of the names. */
RT u64 sonde_rt_read_ruby_name(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    u64 separator = sonde_rt_ruby_class(p), before = ~0ull;
    if (separator) {
        if (!is_found_text(p, w->base))
            return 0;
        u64 base_size = w->text_size;
        if (!is_found_text(p, w->name) || w->text_size < base_size)
            return 0;
        before = w->text_size - base_size;
    }
    w->name_size = 0;
    if (!append_text(p, w->name, before))
        return 0;
    if (separator) {
        if (!append_text(p, w->owner, ~0ull))
            return 0;
        w->all.texts.function[masked(w->name_size, 255)] = (char)separator;
        w->name_size++;
        if (!append_text(p, w->base, ~0ull))
            return 0;
    }
    w->text_size = w->name_size;
    w->all.texts.function[masked(w->text_size, 255)] = 0;
    mix_name(p, FUNCTION_WORD);
    return 1;
}
/* The same for the file, from which the end is kept. */
RT u64 sonde_rt_read_ruby_file(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    if (!is_found_text(p, w->path))
        return 0;
    u64 most = SONDE_INTERPRETED_FILE_BYTES - 1, skipped = w->text_size > most ? w->text_size - most : 0;
    w->text_size -= skipped;
    u64 size = masked(w->text_size, SONDE_INTERPRETED_FILE_BYTES - 1);
    if (bpf_probe_read_user(w->all.texts.file, (u32)size, (const void*)(w->text + skipped)) != 0)
        return 0;
    w->all.texts.file[size] = 0;
    mix_name(p, FILE_WORD);
    return 1;
}

/* ---- the position in a file ---- */

/* Returns the number of entries in the table of lines up to a position. Returns 0 if it cannot be read. */
static inline u64 entries_up_to(struct sonde_ruby_walk* w, u64 position)
{
    enum { AT_ONCE = 54, FIELDS = 9, FIELD_BITS = 7, BLOCK = 512, BLOCK_BYTES = 80, RANK_BITS = 9 };
    if (position < AT_ONCE)
        return read_user_word(w->index + position / FIELDS * 8) >> position % FIELDS * FIELD_BITS & 127;
    u64 behind = position - AT_ONCE, in_block = behind % BLOCK, n = in_block / 64;
    if (!read_words(w, BLOCK_BYTES, w->index + AT_ONCE / FIELDS * 8 + behind / BLOCK * BLOCK_BYTES))
        return 0;
    u64 before = n ? w->words[1] >> ((n - 1) * RANK_BITS & 63) & ((1 << RANK_BITS) - 1) : 0;
    u64 bits = w->words[masked(2 + n, 15)] << (63 - in_block % 64);
    return (u32)w->words[0] + before + (u64)__builtin_popcountll(bits);
}
/* Reads the body of code. */
static inline u64 read_body(struct ruby* p, u64 code)
{
    return read_words(p->w, OBJECT_BYTES, code) && is_internal(p->w, INTERNAL_CODE) &&
           read_words(p->w, BODY_BYTES, word_at(p->w, p->layout->code_body));
}
/* One step to the code whose label is shown. A `rescue`, an `ensure` and evaluated code have the label of the code
 * around them. */
static long find_label(u64 i, struct ruby* p)
{
    (void)i;
    struct sonde_ruby_walk* w = p->w;
    const struct sonde_ruby* at = p->layout;
    w->name = 0;
    if (!read_body(p, w->labelled))
        return 1;
    u64 kind = number_at(w, 0);
    w->name = word_at(w, at->body_label);
    w->base = word_at(w, at->body_base_label);
    w->outermost = word_at(w, at->body_local);
    w->labelled = word_at(w, at->body_parent);
    return (kind != CODE_RESCUE && kind != CODE_ENSURE && kind != CODE_EVALUATED) || !w->labelled;
}
/* Finds the label to which a class can be added. `is_of_method`: a class belongs to it. */
static inline void find_label_for_class(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    w->labelled = w->code;
    LOOP(MOST_AROUND, find_label, p);
    w->is_of_method = w->name && read_body(p, w->outermost) && number_at(w, 0) == CODE_METHOD;
}
/* Finds the label, the file and the line of the code at `pc`. */
RT u64 sonde_rt_ruby_position(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    const struct sonde_ruby* at = p->layout;
    if (!read_body(p, w->code))
        return 0;
    u64 kind = number_at(w, 0);
    w->is_cleanup = at->names_classes && (kind == CODE_RESCUE || kind == CODE_ENSURE);
    w->instructions = word_at(w, at->body_instructions);
    /* The instruction before `pc` is being executed. */
    u64 position = (w->pc - w->instructions) / 8, size = number_at(w, at->body_size);
    position -= position != 0;
    if (position >= size)
        return 0;
    w->name = word_at(w, at->body_label);
    w->path = word_at(w, at->body_path);
    w->lines = word_at(w, at->body_lines);
    w->lines_size = number_at(w, at->body_lines_size);
    w->index = word_at(w, at->body_lines_index);
    u64 entry = w->lines_size <= 1 ? w->lines_size : w->index ? entries_up_to(w, position) : 0;
    u32 line = 0;
    if (entry && entry <= w->lines_size && w->lines_size < LINES_MOST)
        bpf_probe_read_user(&line, sizeof line, (const void*)(w->lines + (entry - 1) * at->line_size));
    w->line = line;
    /* A path, or an array of it and of the path without symbolic links. */
    if (!read_words(w, OBJECT_BYTES, w->path))
        return 0;
    if (has_type(w, ARRAY))
        w->path = element_of(w, w->path, 0);
    if (at->names_classes && w->frame == w->located)
        find_label_for_class(p);
    return 1;
}

/* ---- methods ---- */

/* One step: an environment has the frame's method, or leads to the one around it. */
static long find_method(u64 i, struct ruby* p)
{
    (void)i;
    struct sonde_ruby_walk* w = p->w;
    u64 method = w->scope[0];
    if (read_words(w, OBJECT_BYTES, method) && is_internal(w, INTERNAL_VARIABLE)) /* which leads to the method */
        method = w->words[1];
    if (read_words(w, OBJECT_BYTES, method) && is_internal(w, INTERNAL_METHOD)) {
        w->method = method;
        return 1;
    }
    return w->scope[2] & ENVIRONMENT_IS_OUTERMOST ||
           bpf_probe_read_user(w->scope, sizeof w->scope, (const void*)((w->scope[1] & ~3ull) - 16)) != 0;
}
/* Reads the frame's method, and finds the class that has it. */
RT u64 sonde_rt_ruby_method(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    w->method = 0;
    for (u32 n = 0; n < 3; n++)
        w->scope[n] = w->environment[n];
    LOOP(MOST_AROUND, find_method, p);
    if (!w->method || !read_words(w, OBJECT_BYTES, w->method))
        return 0;
    if (p->layout->names_classes)
        w->owner = word_at(w, p->layout->method_owner);
    return 1;
}
/* Finds the address of the name of a method in C; 0 if it cannot be read. */
RT u64 sonde_rt_ruby_method_name(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    const struct sonde_ruby* at = p->layout;
    if (!sonde_rt_ruby_method(p))
        return 0;
    u64 id = read_user_word(word_at(w, at->method_definition) + at->definition_name);
    u64 number = id > at->last_operator ? id >> 4 : id, symbols = w->all.base + at->symbols;
    u32 last = 0;
    bpf_probe_read_user(&last, sizeof last, (const void*)symbols);
    if (!number || number > last)
        return 0;
    u64 block = element_of(w, read_user_word(symbols + at->symbols_ids), number / ELEMENT_BLOCK);
    return block ? element_of(w, block, number % ELEMENT_BLOCK * 2) : 0;
}

/* ---- the list of frames ---- */

/* The word of `frame`. A frame without code has the name of its method, at the position of `located`. */
RT u64 sonde_rt_ruby_frame(struct ruby* p)
{
    struct sonde_ruby_walk* w = p->w;
    w->line = w->path = w->name = w->owner = w->is_of_method = w->is_cleanup = 0;
    w->all.names = (struct sonde_identity){};
    sonde_identify(&w->all.names, SONDE_LANGUAGE_RUBY);
    if (w->code && !sonde_rt_ruby_position(p))
        return 0;
    if (w->frame != w->located)
        w->name = w->base = sonde_rt_ruby_method_name(p);
    else if (w->is_of_method && !sonde_rt_ruby_method(p))
        return 0;
    if (!w->name || !sonde_rt_read_ruby_name(p))
        return 0;
    w->all.texts.file[0] = 0;
    if (w->code && !sonde_rt_read_ruby_file(p))
        return 0;
    return word_of_frame(p->cache, &w->all, w->line);
}
/* One step: finds the next frame with code, or takes a frame. */
static long take_frame(u64 i, struct ruby* p)
{
    (void)i;
    struct sonde_ruby_walk* w = p->w;
    struct sonde_stack* out = &p->stacks->interpreted;
    const struct sonde_ruby* at = p->layout;
    if (w->frame >= w->end) {
        out->state = SONDE_STACK_WHOLE;
        return 1;
    }
    if (!w->is_located) {
        w->code = w->pc = 0;
        if (w->located < w->end) {
            if (!read_words(w, 64, w->located)) {
                out->state = SONDE_STACK_LOST;
                return 1;
            }
            w->code = word_at(w, at->frame_code);
            w->pc = word_at(w, at->frame_pc);
        }
        if (w->located < w->end && (!w->code || !w->pc)) {
            w->located += at->frame_size;
            return 0;
        }
        w->is_located = 1;
    }
    u64 environment = read_user_word(w->frame + at->frame_environment);
    if (bpf_probe_read_user(w->environment, sizeof w->environment, (const void*)(environment - 16)) != 0) {
        out->state = SONDE_STACK_LOST;
        return 1;
    }
    u64 flags = w->environment[2], is_located = w->frame == w->located, is_hidden = is_located && w->is_covered;
    if (is_located || (flags & FRAME_KIND) == FRAME_OF_C) {
        if (!is_hidden && out->depth >= w->all.most)
            return 1; /* the state is SONDE_STACK_CUT */
        u64 word = sonde_rt_ruby_frame(p);
        if (!is_hidden)
            add_frame(p->stacks, word ? word : unnamed_frame(SONDE_LANGUAGE_RUBY, SONDE_INTERPRETED_UNREADABLE, 0));
        if (is_located)
            w->is_covered = w->is_cleanup;
    }
    if (flags & FRAME_FINISHES)
        end_activation(p->stacks, 1);
    w->frame += at->frame_size;
    if (is_located) {
        w->located = w->frame;
        w->is_located = 0;
    }
    return 0;
}

/* Finds the thread's frames. Returns 0 if it executes nothing of Ruby. */
RT u64 sonde_rt_begin_ruby_frames(struct ruby* p)
{
    enum { TABLE_ENTRY = 16, CONTEXT_BYTES = 64 };
    struct sonde_ruby_walk* w = p->w;
    const struct sonde_ruby* at = p->layout;
    u64 pointer = 0;
    READ(pointer, bpf_get_current_task_btf()->thread.SONDE_THREAD_POINTER);
    u64 module = read_user_word(w->all.base + at->thread_slot);
    u64 place = read_user_word(w->all.base + at->thread_slot + 8);
    u64 block = read_user_word(read_user_word(pointer + (u64)at->thread_table) + TABLE_ENTRY * module);
    u64 context = module && block ? read_user_word(block + place) : 0;
    if (!context || !read_words(w, CONTEXT_BYTES, context))
        return 0;
    u64 stack = word_at(w, at->context_stack), size = word_at(w, at->context_stack_size);
    w->frame = w->located = word_at(w, at->context_frame);
    w->end = stack + 8 * size - at->frame_size; /* the outermost frame exists before anything is executed */
    w->is_located = w->is_covered = 0;
    return stack && size < STACK_MOST * 64ull && w->frame > stack && w->frame < w->end;
}

/* ---- the loop ---- */

/* Removes the function that executes instructions, which rb_vm_exec() calls. */
static long remove_core(u64 i, struct ruby* p)
{
    struct sonde_interpreter_walk* w = &p->w->all;
    u64 place = p->stacks->machine.looked[masked(i, SONDE_STACK_MOST - 1)] - w->base;
    if (i + 1 >= p->stacks->user.depth)
        return 1;
    if (!bit(w->loops, i) || !bit(w->loops, i + 1) || place < p->layout->core_begin || place >= p->layout->core_end)
        return 0;
    clear_bit(w->loops, i);
    set_bit(w->removed, i);
    return 0;
}
/* Follows the frames of Ruby, if it is Ruby's loop that is in the user stack. */
ONCE int sonde_rt_follow_ruby(struct sonde_stacks* stacks, u64 most)
{
    u32 none = 0;
    if (!stacks || stacks->walk.language != SONDE_LANGUAGE_RUBY)
        return 0;
    u32 element = (u32)stacks->walk.element;
    struct ruby p = {.stacks = stacks, .w = &stacks->ruby};
    p.layout = bpf_map_lookup_elem(&sonde_ruby, &element);
    p.cache = bpf_map_lookup_elem(&sonde_frame_cache, &none);
    if (!p.layout || !p.cache || !p.layout->version)
        return 0;
    begin_frames(stacks, most);
    if (!sonde_rt_begin_ruby_frames(&p))
        return 0;
    struct sonde_interpreter_walk* w = &stacks->walk;
    stacks->interpreted.state = SONDE_STACK_CUT;
    LOOP(3 * (u32)most + MOST_OTHERS, take_frame, &p);
    LOOP(SONDE_STACK_MOST, remove_core, &p);
    /* Ruby adds a frame just before it calls rb_vm_exec(), and removes the frame before rb_vm_exec() returns. */
    w->is_early = both_are_whole(stacks) && loops_of(w) < w->activations;
    drop_idle_loop(stacks);
    w->is_followed = 1;
    return 0;
}
