/* Follows the frames of Python (runtime/plan/interpreted_stack.h).
 *
 * The way to the frames: _PyRuntime, its list of interpreters, the list of threads of each. The thread's structure has
 * the same pthread_self() as the current thread, and leads to the current frame. Each frame leads to its caller.
 *
 * Up to 3.10, an activation executes one function. In 3.11 its outermost function has a mark. Since 3.12 a frame that is
 * not a function ends it. From 3.11 on, an address in the machine's stack belongs to each activation. It shows whether
 * the activation has already begun to execute its function, or has ended doing so.
 *
 * A frame's word depends on its names, its table of lines and its instruction only. So the word is looked up by a hash
 * of these contents, for all processes. The work of reading lines and texts is done once.
 *
 * Everything that is read is checked, because the interpreter may just be changing it: types of objects, links of lists
 * in both directions. A frame that cannot be read ends the list with SONDE_INTERPRETED_UNREADABLE.
 *
 * As in stack.bpf.c, all state that changes is in map memory. */
#include "interpreted_stack.h"
#include "python.h"

extern u8 sonde_python, sonde_python_cache; /* maps, defined by the script's module */
_Static_assert(sizeof(struct python_text) <= 8 * SONDE_PYTHON_TEXT_WORDS, "more than handlers provide");

enum {
    CODE_BYTES = 144, /* of a code object: all members that are read */
    FRAME_BYTES = 80, OLD_FRAME_BYTES = 112,
    WINDOW = 8 * SONDE_PYTHON_WALK_WORDS,
    MOST_THREADS = 4096,
    MOST_TABLE = 1 << 18, /* bytes of a table of lines */
    THREAD_HEAD = 4096,   /* pthread_self() is at most as far below the thread pointer */
    NO_LINE = -1,
};

struct python {
    struct sonde_stacks* stacks;
    struct sonde_python_walk* w;
    const struct sonde_python* layout;
    struct sonde_frame_cache* cache;
};
static inline u64 word_at(struct sonde_python_walk* w, u64 offset)
{
    return w->words[masked(offset >> 3, SONDE_PYTHON_WALK_WORDS - 1)];
}
static inline u64 byte_at(struct sonde_python_walk* w, u64 offset)
{
    return ((u8*)w->words)[masked(offset, WINDOW - 1)];
}
static inline u32 number_at(struct sonde_python_walk* w, u64 offset)
{
    return (u32)(word_at(w, offset) >> 8 * (offset & 4));
}

/* ---- the line of an instruction ---- */

/* The next byte of the table. The window is filled again if it does not contain the byte. */
static inline u64 table_byte(struct sonde_python_walk* w)
{
    u64 place = w->at - w->window_at;
    if (place >= WINDOW) {
        w->window_at = w->at;
        place = 0;
        if (read_python(w->window, WINDOW, w->table + w->at) != 0)
            read_python(w->window, (u32)masked(w->table_size - w->at, WINDOW - 1), w->table + w->at);
    }
    w->at++;
    return ((u8*)w->window)[masked(place, WINDOW - 1)];
}
/* Up to 3.9, a pair says how far the next line's code is, and how much larger its number is (Objects/lnotab_notes.txt).
 * In 3.10, a pair is the size of a line's code, and the difference to the line before; -128: no line. */
static long take_pair(u64 i, struct python* p)
{
    (void)i;
    struct sonde_python_walk* w = p->w;
    if (w->at >= w->table_size)
        return 1;
    u64 size = table_byte(w);
    s64 more = (s64)(table_byte(w) << 56) >> 56;
    if (p->layout->version >= 10) {
        w->end += size;
        w->line += more == -128 ? 0 : more;
        w->found = (s64)w->end > w->place;
        w->shown = more == -128 ? 0 : (u64)w->line;
        return w->found;
    }
    w->end += size;
    if ((s64)w->end > w->place)
        return 1;
    w->line += more;
    w->shown = (u64)w->line;
    return 0;
}
/* Since 3.11: entries of several bytes, of which only the first one has its highest bit set: the number of code units,
 * and the form of the rest (Objects/locations.md). Only forms with a difference of lines matter. */
static inline s64 signed_number(u64 value) { return value & 1 ? -(s64)(value >> 1) : (s64)(value >> 1); }
static long take_byte(u64 i, struct python* p)
{
    (void)i;
    enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    struct sonde_python_walk* w = p->w;
    if (w->at >= w->table_size)
        return 1;
    u64 byte = table_byte(w);
    if (byte & 0x80) {
        /* The entry before is complete now. */
        if ((s64)w->end > w->place)
            return 1;
        w->code_of_entry = byte >> 3 & 15;
        w->end += 2 * ((byte & 7) + 1);
        w->value = w->shift = 0;
        w->is_collecting = w->code_of_entry == NO_COLUMNS || w->code_of_entry == LONG;
        if (w->code_of_entry >= ONE_LINE_0 && w->code_of_entry <= ONE_LINE_2)
            w->line += (s64)w->code_of_entry - ONE_LINE_0;
    } else if (w->is_collecting) {
        w->value |= (byte & 63) << (w->shift & 63);
        w->shift += 6;
        if (!(byte & 64)) {
            w->line += signed_number(w->value);
            w->is_collecting = 0;
        }
    }
    w->shown = w->code_of_entry == NONE ? 0 : (u64)w->line;
    return 0;
}
/* Sets `shown` to the line of the instruction, or to 0 if it has none. */
RT u64 sonde_rt_python_line(struct python* p)
{
    struct sonde_python_walk* w = p->w;
    w->at = w->end = w->value = w->shift = w->is_collecting = w->code_of_entry = 0;
    w->window_at = (u64)-WINDOW; /* nothing is in the window */
    w->shown = (u64)w->line;
    if (w->place < 0)
        return 0;
    u64 size = w->table_size < MOST_TABLE ? w->table_size : MOST_TABLE;
    if (p->layout->version >= 11) {
        LOOP((u32)size, take_byte, p);
    } else {
        LOOP((u32)(size / 2), take_pair, p);
    }
    if (p->layout->version >= 10 && (s64)w->end <= w->place)
        w->shown = 0;
    return 0;
}

/* ---- names ---- */

static long mix_text(u64 i, struct python* p)
{
    struct python_text* t = (struct python_text*)p->w->text;
    u64 left = t->count * t->width - 8 * i, word = t->object[masked((t->data >> 3) + i, PYTHON_OBJECT / 8 - 1)];
    u64 bits = left < 8 ? 64 - 8 * left : 0;
    sonde_identify(&p->w->all.names, word << (bits & 63) >> (bits & 63));
    return 0;
}
/* Reads a text and adds its contents to the identity of the names. */
RT u64 sonde_rt_mix_python_text(struct python* p, u64 address, s64 first)
{
    struct python_text* t = (struct python_text*)p->w->text;
    if (!sonde_rt_read_python_text(t, p->layout, p->w->all.base + p->layout->unicode_type, address, first))
        return 0;
    sonde_identify(&p->w->all.names, t->all << 3 | t->width);
    LOOP((u32)(t->count * t->width + 7) / 8, mix_text, p);
    return 1;
}
static long mix_window(u64 i, struct python* p)
{
    struct sonde_python_walk* w = p->w;
    u64 left = w->table_size + SONDE_PYTHON_BYTES - 8 * (i + SONDE_PYTHON_BYTES / 8);
    u64 word = w->window[masked(i + SONDE_PYTHON_BYTES / 8, SONDE_PYTHON_WALK_WORDS - 1)];
    u64 bits = left < 8 ? 64 - 8 * left : 0;
    sonde_identify(&w->all.contents, word << (bits & 63) >> (bits & 63));
    return 0;
}
/* Reads the beginning of the table of lines and adds it to the frame's identity. The rest of a large table is
 * represented by its address in this process. */
static inline u64 mix_table(struct python* p, u64 table)
{
    struct sonde_python_walk* w = p->w;
    u64 fits = WINDOW - SONDE_PYTHON_BYTES;
    if (read_python(w->window, WINDOW, table) != 0) {
        if (read_python(w->window, SONDE_PYTHON_BYTES, table) != 0 ||
            read_python(w->window, (u32)masked(w->window[SONDE_PYTHON_SIZE / 8] + SONDE_PYTHON_BYTES, WINDOW - 1),
                        table) != 0)
            return 0;
    }
    w->table = table + SONDE_PYTHON_BYTES;
    w->table_size = w->window[SONDE_PYTHON_SIZE / 8];
    sonde_identify(&w->all.contents, w->table_size);
    if (w->table_size > fits) {
        sonde_identify(&w->all.contents, who_runs());
        sonde_identify(&w->all.contents, table);
    }
    LOOP((u32)((w->table_size < fits ? w->table_size : fits) + 7) / 8, mix_window, p);
    return 1;
}

/* Returns the word of a frame that no handler has met before. */
RT u64 sonde_rt_learn_python_frame(struct python* p)
{
    struct sonde_python_walk* w = p->w;
    struct python_text* t = (struct python_text*)w->text;
    u64 type = w->all.base + p->layout->unicode_type;
    if (!sonde_rt_read_python_text(t, p->layout, type, w->name, 0))
        return 0;
    sonde_rt_convert_python_text(t);
    copy_bounded((u8*)w->all.texts.function, SONDE_INTERPRETED_FUNCTION_BYTES, t->utf8);
    if (!sonde_rt_read_python_text(t, p->layout, type, w->file, PYTHON_FROM_END))
        return 0;
    sonde_rt_convert_python_text(t);
    copy_bounded((u8*)w->all.texts.file, SONDE_INTERPRETED_FILE_BYTES, t->utf8);
    sonde_rt_python_line(p);
    return sonde_rt_name_frame(&w->all, w->shown);
}

/* The word for the frame with `code` and `instr`; 0 if it cannot be read. */
RT u64 sonde_rt_python_frame(struct python* p)
{
    struct sonde_python_walk* w = p->w;
    const struct sonde_python* at = p->layout;
    if (read_python(w->words, CODE_BYTES, w->code) != 0 ||
        w->words[SONDE_PYTHON_TYPE / 8] != w->all.base + at->code_type)
        return 0;
    w->line = (s32)number_at(w, at->code_first_line);
    w->file = word_at(w, at->code_file);
    w->name = word_at(w, at->version >= 11 ? at->code_qualname : at->code_name);
    u64 table = word_at(w, at->code_lines);
    w->place = at->version >= 11 ? (s64)(w->instr - w->code - at->code_bytes) : (s64)(s32)w->instr;
    if (at->version == 10)
        w->place *= 2;
    if (w->place >= 1 << 28 || w->place < -16)
        return 0;
    w->all.names = (struct sonde_identity){};
    if (!sonde_rt_mix_python_text(p, w->name, 0) || !sonde_rt_mix_python_text(p, w->file, PYTHON_FROM_END))
        return 0;
    w->all.contents = w->all.names;
    sonde_identify(&w->all.contents, (u64)w->place);
    sonde_identify(&w->all.contents, (u64)w->line << 8 | at->version);
    if (!mix_table(p, table))
        return 0;
    u64 frame = known_frame(p->cache, &w->all);
    if (frame)
        return frame;
    frame = sonde_rt_learn_python_frame(p);
    keep_frame(p->cache, &w->all, frame);
    return frame;
}

/* ---- the list of frames ---- */

/* In 3.11, a structure in the machine's stack belongs to each activation. It leads to the activation's current frame and
 * to the structure of the activation that called it. */
static inline void begin_cframe(struct python* p, u64 cframe)
{
    const struct sonde_python* at = p->layout;
    p->w->cframe = cframe;
    p->w->outer_cframe = read_user_word(cframe + at->thread_frame + 8);
    p->w->outer_frame = read_user_word(p->w->outer_cframe + at->thread_frame);
}
static long take_frame(u64 i, struct python* p)
{
    (void)i;
    enum { OWNED_BY_C = 3 };
    struct sonde_python_walk* w = p->w;
    struct sonde_stack* out = &p->stacks->interpreted;
    const struct sonde_python* at = p->layout;
    if (!w->frame || out->depth >= w->all.most) {
        out->state = w->frame ? SONDE_STACK_CUT : SONDE_STACK_WHOLE;
        return 1;
    }
    u64 this = w->frame, word = 0, version = at->version;
    if (read_python(w->words, version >= 11 ? FRAME_BYTES : OLD_FRAME_BYTES, this) == 0) {
        w->frame = word_at(w, at->frame_back);
        if (version >= 12 && byte_at(w, at->frame_owner) >= OWNED_BY_C) {
            end_activation(p->stacks, this);
            return 0;
        }
        /* The loop sets the mark just after the frame has become the current one.
         * In map memory: the verifier of Linux 6.1 takes it for the number that it was first, 0. */
        w->is_entry = version == 11 && (byte_at(w, at->frame_is_entry) == 1 || w->frame == w->outer_frame);
        w->code = word_at(w, at->frame_code) & ~7ull;
        w->instr = version >= 11 ? word_at(w, at->frame_instr) : number_at(w, at->frame_instr);
        word = sonde_rt_python_frame(p);
    }
    add_frame(p->stacks, word ? word : unnamed_frame(SONDE_LANGUAGE_PYTHON, SONDE_INTERPRETED_UNREADABLE, 0));
    if (!word) {
        out->state = SONDE_STACK_LOST;
        end_activation(p->stacks, 1);
        return 1;
    }
    if (version <= 10)
        end_activation(p->stacks, 1);
    if (w->is_entry) {
        end_activation(p->stacks, w->cframe);
        begin_cframe(p, w->outer_cframe);
    }
    return 0;
}

/* The current frame of a thread; 0: it executes no Python function. */
static inline u64 current_frame(struct python* p, u64 thread)
{
    const struct sonde_python* at = p->layout;
    if (!at->thread_cframe)
        return read_user_word(thread + at->thread_frame);
    u64 cframe = read_user_word(thread + at->thread_cframe);
    if (at->version == 11)
        begin_cframe(p, cframe);
    return cframe ? read_user_word(cframe + at->thread_frame) : 0;
}
static inline u64 is_this_thread(struct python* p, u64 thread)
{
    return p->w->thread_pointer - read_user_word(thread + p->layout->thread_id) < THREAD_HEAD;
}
/* Whether the structure is still in the list of the newest interpreter. A thread can have one for each interpreter; the
 * newest one that executes a function is at the stack's end. */
static inline u64 is_in_list(struct python* p, u64 thread)
{
    const struct sonde_python* at = p->layout;
    u64 interpreter = read_user_word(thread + SONDE_PYTHON_THREAD_INTERPRETER);
    u64 before = read_user_word(thread + SONDE_PYTHON_THREAD_BEFORE);
    return interpreter && interpreter == read_user_word(p->w->all.base + at->runtime + at->runtime_interpreters) &&
           read_user_word(before ? before + at->thread_next : interpreter + at->interpreter_threads) == thread;
}
static long find_thread(u64 i, struct python* p)
{
    (void)i;
    struct sonde_python_walk* w = p->w;
    const struct sonde_python* at = p->layout;
    if (!w->thread) {
        if (!w->interpreter)
            return 1;
        w->thread = read_user_word(w->interpreter + at->interpreter_threads);
        w->interpreter = read_user_word(w->interpreter + at->interpreter_next);
        return 0;
    }
    if (is_this_thread(p, w->thread)) {
        w->frame = current_frame(p, w->thread);
        w->fallback = w->thread;
        if (w->frame)
            return 1;
    }
    w->thread = read_user_word(w->thread + at->thread_next);
    return 0;
}

/* Finds the thread's current frame. Not inlined, here and below, because callers have little stack. */
RT u64 sonde_rt_begin_python_frames(struct python* p)
{
    struct sonde_python_walk* w = p->w;
    const struct sonde_python* at = p->layout;
    struct task_struct* task = bpf_get_current_task_btf();
    /* At the loop's first instruction, up to 3.10, the new frame is only an argument of the loop. */
    if (at->version <= 10 && p->stacks->user.from == SONDE_FROM_REGISTERS && p->stacks->user.pc == w->all.base + at->loop) {
        u64 place = at->version == 8 ? SONDE_REGS_ARGUMENT1 : SONDE_REGS_ARGUMENT2;
        bpf_probe_read_kernel(&w->frame, 8, (const u8*)bpf_task_pt_regs(task) + place);
        return 0;
    }
    READ(w->thread_pointer, task->thread.SONDE_THREAD_POINTER);
    u32 none = 0;
    struct sonde_python_cache* cache = bpf_map_lookup_elem(&sonde_python_cache, &none);
    if (!cache)
        return 0;
    u64* known = &cache->thread[masked((u32)bpf_get_current_pid_tgid(), SONDE_PYTHON_THREADS - 1)];
    w->thread = *(volatile u64*)known;
    w->frame = 0;
    if (w->thread && is_this_thread(p, w->thread) && is_in_list(p, w->thread))
        w->frame = current_frame(p, w->thread);
    if (w->frame)
        return 0;
    w->thread = w->fallback = 0;
    w->interpreter = read_user_word(w->all.base + p->layout->runtime + p->layout->runtime_interpreters);
    LOOP(MOST_THREADS, find_thread, p);
    if (w->fallback)
        *(volatile u64*)known = w->fallback;
    return 0;
}
/* The interpreter must be known. Returns 0 if it cannot be used. */
static inline u64 begin_python(struct python* p, struct sonde_stacks* stacks)
{
    u32 none = 0, element = (u32)stacks->walk.element;
    p->stacks = stacks;
    p->w = &stacks->python;
    p->layout = bpf_map_lookup_elem(&sonde_python, &element);
    p->cache = bpf_map_lookup_elem(&sonde_frame_cache, &none);
    return p->layout && p->cache && p->layout->version;
}
static inline void follow_frames(struct python* p, u64 most)
{
    struct sonde_python_walk* w = p->w;
    struct sonde_stack* out = &p->stacks->interpreted;
    begin_frames(p->stacks, most);
    sonde_rt_begin_python_frames(p);
    out->state = SONDE_STACK_NO_PYTHON;
    if (w->frame)
        LOOP(2 * (u32)most + 2, take_frame, p);
}

/* ---- the interpreter of a process ---- */

/* If the machine's stack does not have the interpreter, it is found in the process' list of files. The interpreter is the
 * program itself or a library. The dynamic linker has a list of libraries for debuggers. The program's headers lead to
 * its dynamic section, whose entry DT_DEBUG has the address of a struct r_debug, which begins the list of struct
 * link_map (<link.h>). */
enum {
    AUXILIARY_PAIRS = 16, MOST_HEADERS = 32, MOST_DYNAMIC = 128, MOST_FILES = 1024,
    AT_PHDR = 3, PT_DYNAMIC = 2, PT_PHDR = 6, DT_DEBUG = 21,
    HEADER_BYTES = 56, HEADER_ADDRESS = 16, DYNAMIC_BYTES = 16, LINK_BYTES = 32, FIRST_LINK = 8,
};
enum { NO_INTERPRETER = -1 };

/* Uses the mapping at an address if it is an interpreter's code. */
RT u64 sonde_rt_take_interpreter(struct python* p, u64 address)
{
    struct sonde_found* in = &p->stacks->machine.in;
    if (!sonde_rt_find_mapping(address, in) || !in->at.inode)
        return 0;
    u64 inode = in->at.inode;
    void* table = bpf_map_lookup_elem(&sonde_files, &inode);
    u64 row = table ? element(table, SONDE_TABLE_INTERPRETERS) : 0, interpreter = (u32)row;
    u64 is_python = interpreter && SONDE_TABLE_LANGUAGE_OF(interpreter) == SONDE_LANGUAGE_PYTHON;
    p->w->is_early |= !table;
    p->w->loop = row >> 32;
    if (!is_python || !in->code)
        return is_python;
    p->w->all.inode = inode;
    p->w->all.language = SONDE_LANGUAGE_PYTHON;
    p->w->all.element = SONDE_TABLE_ELEMENT_OF(interpreter);
    p->w->all.base = in->at.start - in->at.offset;
    return 1;
}
static long find_headers(u64 i, struct python* p)
{
    u64 pair = masked(2 * i, SONDE_PYTHON_WALK_WORDS - 2);
    if (p->w->words[pair] == AT_PHDR)
        p->w->at = p->w->words[pair + 1];
    return p->w->at != 0;
}
static long find_dynamic(u64 i, struct python* p)
{
    struct sonde_python_walk* w = p->w;
    u64 place = w->at + i * HEADER_BYTES;
    u32 kind = 0;
    read_python(&kind, sizeof kind, place);
    if (kind == PT_PHDR)
        w->start = w->at - read_user_word(place + HEADER_ADDRESS);
    if (kind == PT_DYNAMIC)
        w->end = w->start + read_user_word(place + HEADER_ADDRESS);
    return w->end != 0;
}
static long find_debug(u64 i, struct python* p)
{
    (void)i;
    struct sonde_python_walk* w = p->w;
    if (read_python(w->words, DYNAMIC_BYTES, w->end) != 0 || !w->words[0])
        return 1;
    w->end += DYNAMIC_BYTES;
    w->frame = w->words[0] == DT_DEBUG ? w->words[1] : 0;
    return w->frame != 0;
}
static long try_file(u64 i, struct python* p)
{
    (void)i;
    enum { LOADED_AT = 0, DYNAMIC = 2, NEXT = 3 };
    struct sonde_python_walk* w = p->w;
    if (!w->frame || read_python(w->words, LINK_BYTES, w->frame) != 0)
        return 1;
    w->frame = w->words[NEXT];
    if (!sonde_rt_take_interpreter(p, w->words[DYNAMIC]))
        return 0;
    sonde_rt_take_interpreter(p, w->words[LOADED_AT] + w->loop);
    return w->all.inode != 0;
}
RT u64 sonde_rt_search_interpreter(struct python* p)
{
    struct sonde_python_walk* w = p->w;
    struct mm_struct* mm = 0;
    u64 code = 0;
    READ(mm, bpf_get_current_task_btf()->mm);
    READ(code, mm->start_code);
    w->is_early = 0;
    p->stacks->machine.in = (struct sonde_found){};
    sonde_rt_take_interpreter(p, code);
    if (w->all.inode)
        return 0;
    w->at = w->start = w->end = w->frame = 0;
    bpf_probe_read_kernel(w->words, 16 * AUXILIARY_PAIRS, __builtin_preserve_access_index(&mm->saved_auxv));
    LOOP(AUXILIARY_PAIRS, find_headers, p);
    if (w->at)
        LOOP(MOST_HEADERS, find_dynamic, p);
    if (w->end)
        LOOP(MOST_DYNAMIC, find_debug, p);
    if (w->frame)
        w->frame = read_user_word(w->frame + FIRST_LINK);
    LOOP(MOST_FILES, try_file, p);
    return 0;
}
static inline u64 mark_of(struct sonde_python_walk* w, u64 who)
{
    const u64 factor = 0x9e3779b97f4a7c15ull;
    return sonde_mix(sonde_mix(who, w->all.base, factor), w->all.element, factor);
}
/* The entry of the cache for the current process. `is_found`: stores the result of a search. Otherwise returns 1 if the
 * entry answers the question: `state` of Python's stack then says whether there is an interpreter. */
RT u64 sonde_rt_known_python(struct python* p, u64 is_found)
{
    struct sonde_python_walk* w = p->w;
    struct sonde_stack* out = &p->stacks->interpreted;
    u32 none = 0;
    struct sonde_python_cache* cache = bpf_map_lookup_elem(&sonde_python_cache, &none);
    if (!cache)
        return 0;
    u64 who = who_runs();
    volatile u64* known = (volatile u64*)&cache->process[masked(who >> 20, SONDE_PYTHON_PROCESSES - 1)];
    struct mm_struct* mm = 0;
    READ(mm, bpf_get_current_task_btf()->mm);
    READ(w->code, mm->exec_vm);
    if (is_found) {
        w->all.element = w->all.inode ? w->all.element : (u64)NO_INTERPRETER;
        w->all.base = w->all.inode ? w->all.base : w->code;
        known[0] = w->all.base;
        known[1] = w->all.element;
        known[2] = mark_of(w, who);
        return 1;
    }
    w->all.base = known[0];
    w->all.element = known[1];
    u64 is_there = w->all.element != (u64)NO_INTERPRETER;
    if (known[2] != mark_of(w, who) || (!is_there && w->all.base != w->code))
        return 0;
    out->state = is_there ? SONDE_STACK_FRESH : SONDE_STACK_NO_PYTHON;
    return 1;
}
/* The reason why the task cannot have a stack of Python; 0: it may have one. */
RT u64 sonde_rt_why_no_python(struct sonde_stacks* stacks)
{
    return stacks->user.from == SONDE_FROM_REGISTERS ? 0 : why_none(&stacks->user, bpf_get_current_task_btf());
}
/* Begins Python's stack of the current thread, unless an earlier call in this handler has done so. An earlier hit or a
 * search finds the interpreter of the process. If there is none, this is true as long as the process loads no code. */
ONCE int sonde_rt_find_python(struct sonde_stacks* stacks)
{
    struct python p = {};
    if (!stacks || stacks->interpreted.state != SONDE_STACK_FRESH)
        return 0;
    p.stacks = stacks;
    p.w = &stacks->python;
    stacks->interpreted.depth = stacks->interpreted.fp = p.w->all.inode = p.w->is_early = 0;
    stacks->interpreted.state = sonde_rt_why_no_python(stacks);
    if (stacks->interpreted.state || sonde_rt_known_python(&p, 0))
        return 0;
    sonde_rt_search_interpreter(&p);
    if (p.w->all.inode || !p.w->is_early)
        sonde_rt_known_python(&p, 1);
    stacks->interpreted.state = p.w->all.inode ? SONDE_STACK_FRESH : SONDE_STACK_NO_PYTHON;
    return 0;
}
/* Follows the frames of the current thread, after sonde_rt_find_python(). */
ONCE int sonde_rt_python_stack(struct sonde_stacks* stacks, u64 most)
{
    struct python p;
    if (!stacks || stacks->interpreted.state != SONDE_STACK_FRESH)
        return 0;
    stacks->walk.language = SONDE_LANGUAGE_PYTHON;
    if (begin_python(&p, stacks))
        follow_frames(&p, most);
    else
        stacks->interpreted.state = SONDE_STACK_NO_PYTHON;
    return 0;
}
/* The same for the interpreter whose loop is in the user stack. */
ONCE int sonde_rt_follow_python(struct sonde_stacks* stacks, u64 most)
{
    struct python p;
    if (!stacks || stacks->walk.language != SONDE_LANGUAGE_PYTHON || !begin_python(&p, stacks))
        return 0;
    follow_frames(&p, most);
    if (p.layout->version <= 10)
        drop_idle_loop(stacks);
    stacks->walk.is_followed = 1;
    return 0;
}
