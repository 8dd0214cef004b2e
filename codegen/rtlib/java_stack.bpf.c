/* Unwinds and names the frames of Java in HotSpot (runtime/plan/interpreted_stack.h).
 *
 * Frames of Java are frames of the machine's stack, but their code is generated, and no table of a file describes it.
 * So the unwinder asks sonde_rt_java_caller() for the caller of code in an anonymous mapping. HotSpot divides the code
 * heap into blocks. A table has a byte for each segment of the heap: the distance to an earlier segment of the block, 0
 * if the block begins there, or 255 if the segment is not in use. A block contains a CodeBlob:
 *
 * * Code of the interpreter has frame pointers. The words below the frame pointer are the caller's sp, the method, the
 *   position in its bytecode and others.
 * * A compiled method (nmethod) has a frame of a constant size. The words at its end are the caller's frame pointer and
 *   the return address. At the beginning and at the end of its code, the frame is incomplete (sonde_rt_java_edge()).
 * * Stubs have a frame of a constant size, or of frame pointers, or of an unknown kind.
 *
 * sonde_rt_follow_java() names the functions. A compiled method has a table of positions that can call something. Each
 * leads to a chain of scopes: the inlined methods, the innermost first. Numbers in scopes and tables of lines are
 * compressed: up to five bytes of 6 bits each; a byte below 192 is the last one. Java 21 avoids bytes of 0 there: each
 * byte is greater by 1 (`first_byte`).
 *
 * Everything that is read is checked: types of objects, and that those which refer to each other agree. As in
 * stack.bpf.c, all state that changes is in map memory. */
#include "interpreted_stack.h"

#include "../../runtime/plan/java.h"

static long (*const bpf_probe_read_user_str)(void* dst, u32 size, const void* address) = (void*)114;

extern u8 sonde_java; /* a map, defined by the script's module */

enum {
    FRAME_MOST = 1 << 20,
    HOPS_MOST = 128,
    LINE_BYTES_MOST = 4096,
    CHUNK = 256,
    NAME_MASK = 255,
    UNUSED_SEGMENT = 255,
    LAST_BYTE = 192,
    NEXT_BITS = 6,
    LAST_SHIFT = 30,
    /* The words from 8 words below the frame pointer on. */
    FRAME_BELOW = 64,
    FRAME_WORDS = 10,
    BYTECODE = 0,
    METHOD = 5,
    CALL = 6, /* sp of the call of another method; 0: the method is executed itself */
    SENDER = 7,
    CALLERS_FP = 8,
    RETURN = 9,
    FRAME_FIXED = 72, /* the frame's part below fp that does not depend on the method */
    /* The number of bytes at the beginning of a compiled method in which it allocates its frame. In `words`, BEFORE
     * other bytes precede them. */
    PROLOGUE = 120,
    BEFORE = 8,
};
enum { WHOLE_FRAME, NO_FRAME, ONLY_FP, CALLERS_FP_IN_REGISTER, UNKNOWN_FRAME };

static inline u64 word_at(struct sonde_java_walk* w, u64 offset)
{
    return w->words[masked(offset >> 3, SONDE_JAVA_WALK_WORDS - 1)];
}
static inline u32 number_at(struct sonde_java_walk* w, u64 offset)
{
    return (u32)(word_at(w, offset) >> 8 * (offset & 4));
}
static inline u32 short_at(struct sonde_java_walk* w, u64 offset)
{
    return (u32)(word_at(w, offset) >> 8 * (offset & 6)) & 0xffff;
}
static inline u64 read_words(struct sonde_java_walk* w, u32 size, u64 address)
{
    return bpf_probe_read_user(w->words, size, (const void*)address) == 0;
}
static inline u32 read_user_number(u64 address)
{
    u32 value = 0;
    bpf_probe_read_user(&value, sizeof value, (const void*)address);
    return value;
}
static inline const struct sonde_java* layout_of(struct sonde_java_walk* w)
{
    u32 element = (u32)w->all.element;
    return bpf_map_lookup_elem(&sonde_java, &element);
}
static inline u64 register_at_hit(u64 place)
{
    u64 value = 0;
    bpf_probe_read_kernel(&value, sizeof value, (const u8*)bpf_task_pt_regs(bpf_get_current_task_btf()) + place);
    return value;
}

/* ---- which HotSpot ---- */

/* The first word of the object in the block of the code heap, which is its type; 0: the block is not in use. */
struct block {
    u64 length, used, type;
};
static inline u64 type_in(u64 address, struct block* block)
{
    return bpf_probe_read_user(block, sizeof *block, (const void*)address) == 0 && (u8)block->used == 1 ? block->type
                                                                                                        : 0;
}
/* The type of the first object in the code heap that begins at the address, if it is one. The first block can be free.
 * Then the next one is in use. Blocks consist of segments, whose size depends on options for the compilers. */
RT u64 sonde_rt_type_in_heap(u64 heap)
{
    struct block block = {0};
    u64 type = type_in(heap, &block), length = block.length;
    if (!type)
        type = type_in(heap + (length << 7), &block);
    return type ? type : type_in(heap + (length << 6), &block);
}
/* Notes the HotSpot whose library contains the type, if it is one. */
RT u64 sonde_rt_note_java(struct sonde_stacks* stacks)
{
    struct sonde_interpreter_walk* to = &stacks->walk;
    const struct sonde_mapping* in = &stacks->machine.java.at;
    u64 inode = in->inode;
    void* table = inode ? bpf_map_lookup_elem(&sonde_files, &inode) : 0;
    u64 interpreter = table ? (u32)element(table, SONDE_TABLE_INTERPRETERS) : 0;
    if (!interpreter || SONDE_TABLE_LANGUAGE_OF(interpreter) != SONDE_LANGUAGE_JAVA)
        return 0;
    to->inode = inode;
    to->language = SONDE_LANGUAGE_JAVA;
    to->element = SONDE_TABLE_ELEMENT_OF(interpreter);
    to->base = in->start - in->offset;
    stacks->java.is_read = 0;
    return 1;
}

/* ---- the code heap ---- */

static inline void read_heap(struct sonde_java_walk* w, const struct sonde_java* at, u64 n, u64 heap)
{
    w->low[n] = read_user_word(heap + at->heap_memory + at->space_low);
    w->high[n] = read_user_word(heap + at->heap_memory + at->space_high);
    w->segments[n] = read_user_word(heap + at->heap_segments + at->space_low);
    w->segment_bits = read_user_number(heap + at->heap_segment_bits);
}
RT u64 sonde_rt_read_java_heaps(struct sonde_java_walk* w, const struct sonde_java* at)
{
    u64 list = read_user_word(w->all.base + at->heaps), queue = read_user_word(w->all.base + at->interpreter);
    u64 count = read_user_number(list + at->array_length), data = read_user_word(list + at->array_data);
    w->is_read = 1;
    for (u64 n = 0; n < SONDE_JAVA_HEAPS; n++) {
        w->low[n] = w->high[n] = 0;
        if (n < count)
            read_heap(w, at, n, read_user_word(data + 8 * n));
    }
    w->interpreter = read_user_word(queue + at->queue_begin);
    w->interpreter_end = w->interpreter + read_user_number(queue + at->queue_size);
    w->call_stub_return = read_user_word(w->all.base + at->call_stub_return);
    w->return_barrier = at->return_barrier ? read_user_word(w->all.base + at->return_barrier) : 0;
    return 0;
}
static inline u64 is_in_heap(struct sonde_java_walk* w, u64 pc)
{
    w->heap = SONDE_JAVA_HEAPS;
    for (u64 n = 0; n < SONDE_JAVA_HEAPS; n++)
        if (pc >= w->low[n] && pc < w->high[n])
            w->heap = n;
    return w->heap < SONDE_JAVA_HEAPS;
}
static long hop(u64 i, struct sonde_java_walk** walk)
{
    (void)i;
    struct sonde_java_walk* w = *walk;
    u8 back = UNUSED_SEGMENT;
    bpf_probe_read_user(&back, 1, (const void*)(w->segments[masked(w->heap, SONDE_JAVA_HEAPS - 1)] + w->segment));
    if (back == UNUSED_SEGMENT || back > w->segment)
        return 1;
    w->segment -= back;
    w->blob = back == 0;
    return back == 0;
}
/* Finds the CodeBlob that contains the address, and reads its words. */
RT u64 sonde_rt_find_blob(struct sonde_java_walk* w, const struct sonde_java* at, u64 pc)
{
    if (!is_in_heap(w, pc))
        return 0;
    u64 low = w->low[masked(w->heap, SONDE_JAVA_HEAPS - 1)], bits = w->segment_bits & 31;
    w->segment = (pc - low) >> bits;
    w->blob = 0;
    LOOP(HOPS_MOST, hop, &w);
    if (!w->blob)
        return 0;
    u64 block = low + (w->segment << bits);
    u8 is_used = 0;
    bpf_probe_read_user(&is_used, 1, (const void*)(block + at->block_used));
    w->blob = block + at->block_bytes;
    return is_used == 1 && read_words(w, SONDE_JAVA_BLOB_BYTES, w->blob) && pc >= word_at(w, at->blob_begin) &&
           pc < word_at(w, at->blob_end);
}

/* ---- callers ---- */

/* Marks the stack: it may lack callers. */
static inline void note_guess(struct sonde_stacks* stacks)
{
    if (!stacks->machine.doubt)
        stacks->machine.doubt = SONDE_STACK_GUESSED;
}
/* Checks that the address is that of a method, and reads its ConstMethod: the class of its pool has this pool. */
static inline u64 is_method(struct sonde_java_walk* w, const struct sonde_java* at, u64 method)
{
    w->code = read_user_word(method + at->method_code);
    if (!w->code || !read_words(w, SONDE_JAVA_CODE_BYTES, w->code))
        return 0;
    w->pool = word_at(w, at->code_pool);
    w->code_size = short_at(w, at->code_size);
    w->class_name = read_user_word(w->pool + at->pool_class);
    return w->class_name && read_user_word(w->class_name + at->class_pool) == w->pool;
}
/* Finds the caller of an interpreted method.
 *
 * A method that has been called, but has not built its frame yet, leads to a frame of one of its callers. The frame
 * shows this: it contains the sp of its call. The register that later has the position in the bytecode has the caller's
 * sp then. If both are equal, the frame is that of the caller, and the stack lacks only the method itself. Otherwise a
 * compiled method can be between them. */
static inline u64 interpreted_caller(struct sonde_stacks* stacks, u64 i, u64 sp, u64 fp)
{
    enum { SPARE = 4096 }; /* what the interpreter's own code keeps in the stack */
    struct sonde_java_walk* w = &stacks->java;
    const struct sonde_java* at = layout_of(w);
    if (!at || fp < sp || fp - sp > FRAME_MOST || fp & 7 || !read_words(w, 8 * FRAME_WORDS, fp - FRAME_BELOW))
        return SONDE_JAVA_LOST;
    u64 method = w->words[METHOD], bytecode = w->words[BYTECODE], call = w->words[CALL];
    w->cfa = w->words[SENDER];
    w->saved_at = w->words[CALLERS_FP];
    w->back = w->words[RETURN];
    /* A method handle removes its own argument, behind the caller's sp. */
    if (w->cfa < fp + 8 || w->cfa - fp > FRAME_MOST || !is_method(w, at, method))
        return SONDE_JAVA_LOST;
    u64 bytes = w->code + at->code_bytes;
    if (stacks->machine.exact_now) {
        u64 kept = i == 0 ? register_at_hit(SONDE_REGS_JAVA_BYTECODE) : 0;
        if (call && call != kept)
            note_guess(stacks);
        if (!call && fp - sp > FRAME_FIXED + SPARE + 8 * short_at(w, at->code_stack))
            return SONDE_JAVA_LOST;
        /* The innermost method has its position in the register. */
        if (!call && kept - bytes < w->code_size)
            bytecode = kept;
    }
    if (w->code_size == 0) /* a native method */
        bytecode = 0;
    if (bytecode && bytecode - bytes >= w->code_size)
        return SONDE_JAVA_LOST;
    i = masked(i, SONDE_INTERPRETED_DEPTH - 1);
    w->method[i] = method;
    w->position[i] = bytecode;
    return SONDE_JAVA_FOUND;
}

/* Looks for the instruction that allocates the frame, in each byte of the beginning of a function:
 *
 *     push rbp; [mov rbp, rsp]; sub rsp, N
 *     sub rsp, N; mov [rsp + M], rbp
 *     push rbp                               if the frame has two words */
static long find_frame(u64 i, struct sonde_java_walk** walk)
{
    enum { PUSH = 0x55 };
    struct sonde_java_walk* w = *walk;
    const u8* code = (const u8*)w->words + BEFORE + masked(i, 127);
    u64 is_sub = code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec;
    if (!is_sub && !(code[0] == PUSH && w->frame == 16))
        return 0;
    w->pushed_at = w->allocated_at = i;
    if (!is_sub)
        return 1;
    if (code[-1] == PUSH)
        w->pushed_at = i - 1;
    else if (code[-4] == PUSH && code[-3] == 0x48 && (code[-2] == 0x8b || code[-2] == 0x89))
        w->pushed_at = i - 4;
    else
        w->stored_at = i + (code[1] == 0x83 ? 4 : 7);
    return 1;
}
/* The frame of a compiled method at the distance `at` from its beginning. */
static inline u64 frame_at_beginning(struct sonde_java_walk* w, u64 at)
{
    w->allocated_at = w->pushed_at = w->stored_at = ~0ull;
    if (!read_words(w, BEFORE + PROLOGUE + 8, w->at - at - BEFORE))
        return UNKNOWN_FRAME;
    LOOP(PROLOGUE, find_frame, &w);
    if (w->allocated_at == ~0ull)
        return UNKNOWN_FRAME;
    if (at <= w->pushed_at)
        return NO_FRAME;
    if (at <= w->allocated_at)
        return ONLY_FP;
    return at == w->stored_at ? CALLERS_FP_IN_REGISTER : WHOLE_FRAME;
}
static inline u64 is_jump_before_return(const u8* code)
{
    return code[0] == 0x0f && code[1] >> 4 == 8 && code[6] == 0xc3;
}
/* The frame of a compiled method, by the instructions around the pc, which may be those at its end:
 *
 *     add rsp, N; pop rbp; [cmp rsp, the limit of polls; ja poll]; ret
 *     add rsp, N; pop rbp; jmp
 *     leave; [cmp the thread's exception, 0; jne]; ret
 *     poll: lea r10, [rip + N]; mov [r15 + M], r10; jmp */
static inline u64 frame_at_end(struct sonde_java_walk* w)
{
    enum { POP = 0x5d, RETURNS = 0xc3, JUMPS = 0xe9, JUMPS_TO = 0xff };
    if (!read_words(w, 32, w->at - 8))
        return WHOLE_FRAME;
    const u8* code = (const u8*)w->words + 8;
    if (code[0] == RETURNS || is_jump_before_return(code))
        return NO_FRAME;
    if (code[0] == 0x49 && code[1] == 0x3b &&
        ((code[2] == 0xa7 && code[7] == 0x0f && code[8] == 0x87) ||
         (code[2] == 0x67 && code[4] == 0x0f && code[5] == 0x87)))
        return NO_FRAME;
    if (code[0] == 0x49 && code[1] == 0x83 &&
        ((code[2] == 0x7f && is_jump_before_return(code + 5)) || (code[2] == 0xbf && is_jump_before_return(code + 8))))
        return NO_FRAME;
    if (code[0] == POP && ((code[-4] == 0x48 && code[-3] == 0x83 && code[-2] == 0xc4) ||
                           (code[-7] == 0x48 && code[-6] == 0x81 && code[-5] == 0xc4) || code[1] == RETURNS))
        return ONLY_FP;
    if (code[-1] == POP && (code[0] == JUMPS || code[0] == JUMPS_TO))
        return NO_FRAME;
    if (code[0] == 0x4c && code[1] == 0x8d && code[2] == 0x15 && code[7] == 0x4d && code[8] == 0x89)
        return NO_FRAME;
    u64 is_poll = code[-7] == 0x4c && code[-6] == 0x8d && code[-5] == 0x15 && code[0] == 0x4d && code[1] == 0x89;
    u64 is_polled = code[0] == JUMPS && ((code[-7] == 0x4d && code[-6] == 0x89 && code[-5] == 0x97) ||
                                         (code[-4] == 0x4d && code[-3] == 0x89 && code[-2] == 0x57));
    return is_poll || is_polled ? NO_FRAME : WHOLE_FRAME;
}
/* The state of the innermost function's frame. `w->words` are those of its blob, and are overwritten. */
RT u64 sonde_rt_java_edge(struct sonde_java_walk* w, const struct sonde_java* layout)
{
    u64 type = w->words[0] - w->all.base, at = w->at - word_at(w, layout->blob_begin);
    s64 complete = (s32)number_at(w, layout->blob_complete);
    if (type == layout->vtable_stub)
        return NO_FRAME;
    if (type != layout->nmethod) /* other stubs change their frames */
        return UNKNOWN_FRAME;
    u64 is_entered_in_loop = number_at(w, layout->nmethod_bci) != ~0u;
    u64 begin = word_at(w, is_entered_in_loop ? layout->nmethod_loop_entry : layout->nmethod_entry);
    if (!is_entered_in_loop && w->at < begin)
        return NO_FRAME;
    u64 result = WHOLE_FRAME;
    if (w->at - begin < PROLOGUE)
        result = frame_at_beginning(w, w->at - begin);
    else if (!is_entered_in_loop && (s64)at < complete)
        result = UNKNOWN_FRAME;
    return result == WHOLE_FRAME ? frame_at_end(w) : result;
}
/* Finds the caller of generated code that is not the interpreter's. */
static inline u64 generated_caller(struct sonde_stacks* stacks, u64 i, u64 sp, u64 fp)
{
    struct sonde_java_walk* w = &stacks->java;
    const struct sonde_java* at = layout_of(w);
    u64 own[2], edge = WHOLE_FRAME;
    if (!at || !sonde_rt_find_blob(w, at, w->at))
        return SONDE_JAVA_LOST;
    u64 is_compiled = w->words[0] - w->all.base == at->nmethod;
    u64 is_deoptimized = is_compiled && (w->at == word_at(w, at->compiled_deoptimized) ||
                                         w->at == word_at(w, at->compiled_deoptimized_mh));
    u64 original = number_at(w, at->nmethod_original_pc);
    w->frame = 8 * (u64)number_at(w, at->blob_frame);
    i = masked(i, SONDE_INTERPRETED_DEPTH - 1);
    w->method[i] = w->blob + 1;
    w->position[i] = is_deoptimized ? read_user_word(sp + original) : w->at;
    w->saved_at = fp;
    if (w->at == w->call_stub_return) {
        w->cfa = fp + 16;
        if (fp < sp || fp - sp > FRAME_MOST || bpf_probe_read_user(own, 16, (const void*)fp) != 0)
            return SONDE_JAVA_LOST;
        w->saved_at = own[0];
        w->back = own[1];
        return SONDE_JAVA_FOUND;
    }
    if (stacks->machine.exact_now)
        edge = sonde_rt_java_edge(w, at);
    if (edge == UNKNOWN_FRAME)
        return is_compiled ? SONDE_JAVA_LOST : SONDE_JAVA_GUESSED;
    if (edge != NO_FRAME && w->frame == 0)
        return SONDE_JAVA_GUESSED;
    u64 frame = edge == NO_FRAME ? 8 : edge == ONLY_FP ? 16 : w->frame;
    w->cfa = sp + frame;
    if (frame > FRAME_MOST || bpf_probe_read_user(own, 16, (const void*)(w->cfa - 16)) != 0)
        return SONDE_JAVA_LOST;
    w->back = own[1];
    if (edge == WHOLE_FRAME || edge == ONLY_FP)
        w->saved_at = own[0];
    return SONDE_JAVA_FOUND;
}
/* Finds the caller of function i, whose code is in an anonymous mapping. The result is in `cfa`, `saved_at` (the value
 * of the caller's fp) and `back`. */
RT u64 sonde_rt_java_caller(struct sonde_stacks* stacks, u64 i, u64 pc, u64 sp, u64 fp)
{
    struct sonde_java_walk* w = &stacks->java;
    if (!w->is_read) {
        const struct sonde_java* at = layout_of(w);
        if (at)
            sonde_rt_read_java_heaps(w, at);
    }
    w->at = pc;
    if (!is_in_heap(w, pc))
        return SONDE_JAVA_NO_CODE;
    /* A virtual thread continues here with callers that are not in the machine's stack, but in an object. */
    if (w->return_barrier && pc == w->return_barrier)
        return SONDE_JAVA_LOST;
    u64 is_interpreter = pc >= w->interpreter && pc < w->interpreter_end;
    u64 result = is_interpreter ? interpreted_caller(stacks, i, sp, fp) : generated_caller(stacks, i, sp, fp);
    if (result != SONDE_JAVA_LOST)
        set_bit(w->all.loops, i);
    return result;
}

/* ---- names ---- */

struct java {
    struct sonde_stacks* stacks;
    struct sonde_java_walk* w;
    const struct sonde_java* layout;
    struct sonde_frame_cache* cache;
};
enum {
    FUNCTION_WORD = __builtin_offsetof(struct sonde_interpreted_name, function) / 8,
    FILE_WORD = __builtin_offsetof(struct sonde_interpreted_name, file) / 8,
};
static long mix_text(u64 i, struct sonde_java_walk** walk)
{
    struct sonde_java_walk* w = *walk;
    u64 left = w->number - 8 * i;
    u64 word = ((u64*)&w->all.texts)[masked(w->read + i, 63)], bits = left < 8 ? 64 - 8 * left : 0;
    sonde_identify(&w->all.names, word << (bits & 63) >> (bits & 63));
    return 0;
}
static inline void mix_name(struct java* p, u64 word, u64 size)
{
    p->w->read = word;
    p->w->number = size;
    sonde_identify(&p->w->all.names, size);
    LOOP((u32)(size + 7) / 8, mix_text, &p->w);
}
/* The name of a class has slashes in HotSpot, and dots in Java. That of a class without a name, such as those for
 * lambda expressions, ends with +0x1234 in HotSpot, and with /0x1234 in Java. */
static long put_dot(u64 i, struct sonde_java_walk** w)
{
    char* at = &(*w)->all.texts.function[masked(i, NAME_MASK)];
    *at = *at == '/' ? '.' : *at;
    if (at[0] == '+' && at[1] == '0' && at[2] == 'x')
        *at = '/';
    return 0;
}
static inline u64 length_of(struct java* p, u64 text, u64 most)
{
    unsigned short length = 0;
    bpf_probe_read_user(&length, sizeof length, (const void*)(text + p->layout->text_length));
    return masked(length < most ? length : most, NAME_MASK);
}
/* Reads the texts whose addresses are in `class_name`, `name` and `file`. */
RT u64 sonde_rt_read_java_names(struct java* p)
{
    enum { MOST = SONDE_INTERPRETED_FUNCTION_BYTES - 1 };
    struct sonde_java_walk* w = p->w;
    char* function = w->all.texts.function;
    u64 size = length_of(p, w->class_name, MOST);
    if (!size || bpf_probe_read_user(function, (u32)size, (const void*)(w->class_name + p->layout->text)) != 0)
        return 0;
    LOOP((u32)size, put_dot, &p->w);
    if (size < MOST) {
        function[masked(size, NAME_MASK)] = '.';
        size++;
    }
    u64 more = length_of(p, w->name, MOST - size);
    if (size < MOST && (!more || bpf_probe_read_user(function + masked(size, NAME_MASK), (u32)more,
                                                     (const void*)(w->name + p->layout->text)) != 0))
        return 0;
    size += more;
    function[masked(size, NAME_MASK)] = 0;
    w->all.texts.file[0] = 0;
    mix_name(p, FUNCTION_WORD, size);
    size = w->file ? length_of(p, w->file, SONDE_INTERPRETED_FILE_BYTES - 1) : 0;
    /* The name of a file is needed by nothing but stacks, so its page may not be in memory. */
    if (size && bpf_probe_read_user(w->all.texts.file, (u32)size, (const void*)(w->file + p->layout->text)) != 0)
        size = 0;
    w->all.texts.file[masked(size, NAME_MASK)] = 0;
    mix_name(p, FILE_WORD, size);
    return 1;
}

/* One byte of a table of lines. An entry is a byte with both differences, 5 bits for the position and 3 for the line,
 * or 255 and two compressed numbers with signs. A byte of 0 ends the table. `state` is the number that comes next. */
static long read_line(u64 i, struct sonde_java_walk** walk)
{
    enum { WIDE = 255 };
    struct sonde_java_walk* w = *walk;
    if (i % CHUNK == 0 && !read_words(w, CHUNK, w->read + i))
        return 1;
    u8 byte = ((u8*)w->words)[masked(i, CHUNK - 1)];
    if (w->state == 0) {
        if (byte == 0 || byte == WIDE) {
            w->state = 1;
            w->number = w->shift = 0;
            return byte == 0;
        }
        w->known_bci += byte >> 3;
        w->known_line += byte & 7;
    } else {
        w->number += (u64)(u8)(byte - w->first_byte) << (w->shift & 31);
        w->shift += NEXT_BITS;
        if (byte >= LAST_BYTE && w->shift < LAST_SHIFT)
            return 0;
        u64 value = (u64)(s64)(s32)((u32)w->number >> 1 ^ (0 - ((u32)w->number & 1)));
        w->number = w->shift = 0;
        if (w->state == 1) {
            w->known_bci += value;
            w->state = 2;
            return 0;
        }
        w->known_line += value;
        w->state = 0;
    }
    if (w->known_bci <= w->bci && w->known_bci >= w->sender) {
        w->sender = w->known_bci; /* the best position so far */
        w->line = w->known_line;
    }
    return w->known_bci == w->bci;
}
/* The word of the method `at` at the position `bci`; ~0: unknown. Returns 0 if it cannot be read. */
RT u64 sonde_rt_java_method(struct java* p)
{
    struct sonde_java_walk* w = p->w;
    const struct sonde_java* at = p->layout;
    w->line = w->known_bci = w->known_line = w->state = w->sender = 0;
    if (!is_method(w, at, w->at))
        return 0;
    u64 name = short_at(w, at->code_name), has_lines = short_at(w, at->code_flags) & at->code_has_lines;
    if (!read_words(w, SONDE_JAVA_POOL_BYTES, w->pool))
        return 0;
    u64 file = short_at(w, at->pool_file), length = number_at(w, at->pool_length), texts = w->pool + at->pool_bytes;
    if (name >= length || file >= length)
        return 0;
    w->name = read_user_word(texts + 8 * name);
    w->file = file ? read_user_word(texts + 8 * file) : 0;
    w->class_name = read_user_word(w->class_name + at->class_name);
    if (has_lines && w->bci < w->code_size) {
        w->read = w->code + at->code_bytes + w->code_size;
        LOOP(LINE_BYTES_MOST, read_line, &p->w);
    }
    w->all.names = (struct sonde_identity){};
    sonde_identify(&w->all.names, SONDE_LANGUAGE_JAVA);
    return sonde_rt_read_java_names(p) ? word_of_frame(p->cache, &w->all, w->line) : 0;
}
/* The word of a stub: its name in brackets. */
RT u64 sonde_rt_java_stub(struct java* p)
{
    struct sonde_java_walk* w = p->w;
    char* function = w->all.texts.function;
    enum { MOST = 127 };
    s64 size = bpf_probe_read_user_str(function + 1, MOST, (const void*)word_at(w, p->layout->blob_name));
    if (size <= 1)
        return 0;
    u64 end = masked((u64)size, MOST);
    function[0] = '[';
    function[end] = ']';
    function[end + 1] = 0;
    w->all.texts.file[0] = 0;
    w->all.names = (struct sonde_identity){};
    sonde_identify(&w->all.names, SONDE_LANGUAGE_JAVA);
    mix_name(p, FUNCTION_WORD, end + 1);
    return word_of_frame(p->cache, &w->all, 0);
}

/* ---- inlined methods ---- */

/* Searches the first position from `position` on. */
static long narrow(u64 i, struct java* p)
{
    (void)i;
    struct sonde_java_walk* w = p->w;
    if (w->low_row >= w->high_row)
        return 1;
    u64 middle = (w->low_row + w->high_row) / 2;
    s32 offset = (s32)read_user_number(w->rows + middle * p->layout->pc_bytes + p->layout->pc_offset);
    if ((s64)offset < (s64)w->known_bci)
        w->low_row = middle + 1;
    else
        w->high_row = middle;
    return 0;
}
/* One byte of a scope's numbers. */
static long read_number(u64 i, struct sonde_java_walk** walk)
{
    struct sonde_java_walk* w = *walk;
    u8 byte = ((u8*)w->words)[masked(i, 15)];
    w->number += (u64)(u8)(byte - w->first_byte) << (w->shift & 31);
    w->shift += NEXT_BITS;
    if (byte >= LAST_BYTE && w->shift < LAST_SHIFT)
        return 0;
    if (w->state == 0)
        w->sender = w->number;
    else if (w->state == 1)
        w->name = w->number;
    else
        w->bci = (u32)w->number - 1ull;
    w->number = w->shift = 0;
    w->state++;
    return w->state == 3;
}
/* Reads the method and the position of the scope, and finds the one into which it is inlined. */
static inline void read_scope(struct java* p)
{
    struct sonde_java_walk* w = p->w;
    w->number = w->shift = w->state = 0;
    if (read_words(w, 16, w->scopes + w->scope))
        LOOP(16, read_number, &p->w);
    w->at = w->scope = 0;
    if (w->state != 3 || !w->name) /* the method is unreadable */
        return;
    w->scope = w->sender;
    w->at = read_user_word(w->metadata + 8 * (w->name - 1));
}
/* Finds the scope of the address `pc` in an nmethod, whose words have been read. An address between two calls has none.
 */
static inline void find_scope(struct java* p, u64 pc)
{
    struct sonde_java_walk* w = p->w;
    const struct sonde_java* at = p->layout;
    w->at = word_at(w, at->compiled_method);
    w->bci = ~0ull;
    w->rows = w->blob + number_at(w, at->nmethod_pcs);
    w->scopes = word_at(w, at->compiled_scopes);
    w->metadata = w->blob + number_at(w, at->nmethod_metadata);
    w->known_bci = pc - word_at(w, at->blob_begin);
    w->low_row = 0;
    w->high_row = (number_at(w, at->nmethod_pcs_end) - number_at(w, at->nmethod_pcs)) / at->pc_bytes;
    LOOP(32, narrow, p);
    u64 row = w->rows + w->low_row * at->pc_bytes;
    w->scope = read_user_number(row + at->pc_offset) == w->known_bci ? read_user_number(row + at->pc_scope) : 0;
}

/* ---- the list of frames ---- */

/* Finds the method of function i, or its innermost inlined one. Returns the word of a stub; 0: it is a method. */
static inline u64 begin_function(struct java* p, u64 i)
{
    struct sonde_java_walk* w = p->w;
    u64 pc = w->position[i];
    w->at = w->method[i];
    w->scope = 0;
    w->bci = ~0ull;
    if (!(w->at & 1)) {
        u64 code = read_user_word(w->at + p->layout->method_code);
        w->bci = pc ? pc - code - p->layout->code_bytes : ~0ull;
        return 0;
    }
    w->at = 0;
    if (!sonde_rt_find_blob(w, p->layout, pc))
        return 0;
    if (w->words[0] - w->all.base != p->layout->nmethod)
        return sonde_rt_java_stub(p);
    find_scope(p, pc);
    return 0;
}
/* One step: adds the method of a function, or the next one of those that are inlined into it. One loop, because
 * routines may call each other only eight levels deep before Linux 6.9. */
static long take_method(u64 n, struct java* p)
{
    (void)n;
    struct sonde_java_walk* w = p->w;
    struct sonde_stacks* stacks = p->stacks;
    u64 i = masked(w->current, SONDE_INTERPRETED_DEPTH - 1), word = 0;
    if (w->current >= stacks->user.depth)
        return 1;
    if (!bit(w->all.loops, i)) {
        w->current++;
        return 0;
    }
    if (stacks->interpreted.depth >= w->all.most) {
        stacks->interpreted.state = SONDE_STACK_CUT;
        end_activation(stacks, stacks->machine.sp[i]);
        return 1;
    }
    if (!w->scope)
        word = begin_function(p, i);
    if (w->scope)
        read_scope(p);
    if (!word)
        word = sonde_rt_java_method(p);
    add_frame(stacks, word ? word : unnamed_frame(SONDE_LANGUAGE_JAVA, SONDE_INTERPRETED_UNREADABLE, 0));
    if (!w->scope) {
        end_activation(stacks, stacks->machine.sp[masked(w->current, SONDE_STACK_MOST - 1)]);
        w->current++;
    }
    return 0;
}
/* Names the frames of Java, which the unwinder has marked. */
ONCE int sonde_rt_follow_java(struct sonde_stacks* stacks, u64 most)
{
    u32 none = 0;
    if (!stacks || stacks->walk.language != SONDE_LANGUAGE_JAVA)
        return 0;
    struct java p = {.stacks = stacks, .w = &stacks->java};
    p.layout = layout_of(p.w);
    p.cache = bpf_map_lookup_elem(&sonde_frame_cache, &none);
    if (!p.layout || !p.cache || !p.layout->version)
        return 0;
    p.w->first_byte = p.layout->first_byte;
    begin_frames(stacks, most);
    stacks->interpreted.state = SONDE_STACK_WHOLE;
    p.w->current = p.w->scope = 0;
    LOOP(2 * SONDE_STACK_MOST + 1, take_method, &p);
    stacks->walk.is_followed = 1;
    return 0;
}
