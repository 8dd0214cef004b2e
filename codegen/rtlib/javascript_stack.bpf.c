/* Finds the functions of JavaScript in the stacks of V8 (runtime/plan/interpreted_stack.h).
 *
 * Unlike other interpreters, V8 has no list of frames. Its frames are in the machine's stack, and all code that V8
 * generates keeps a frame pointer. So each frame in such code that has a context and a function below the frame pointer
 * is replaced by a word for the function. Frames of other kinds have a small number there instead of the context:
 *
 *     fp - 8    context
 *     fp - 16   JSFunction  ->  SharedFunctionInfo  ->  Script, and ScopeInfo or name
 *     fp - 24   number of arguments
 *     fp - 32   BytecodeArray (frames of the interpreter and of baseline code)
 *     fp - 40   position in it (frames of the interpreter)
 *
 * The garbage collector moves objects. It runs while no code of JavaScript runs in the thread, and leaves a forwarding
 * address in place of the map of an object that has moved. So the type of each object is checked before it is used. All
 * texts are read at the hit.
 *
 * The table of positions has two numbers for each entry: the distance in the bytecode, and the distance in the source.
 * The line is the number of line ends in the source before the position. This takes long, so the word is kept.
 *
 * As in stack.bpf.c, all state that changes is in map memory. */
#include "interpreted_stack.h"

#include "../../runtime/plan/javascript.h"

extern u8 sonde_javascript; /* a map, defined by the script's module */

enum {
    NO_TYPE = 1 << 16,
    /* Types of strings are below FIRST_OTHER. */
    FIRST_OTHER = 128,
    REPRESENTATION = 7,
    IS_ONE_BYTE = 8,
    IS_UNCACHED = 16,
    SEQUENTIAL = 0,
    CONS = 1,
    EXTERNAL = 2,
    SLICED = 3,
    THIN = 5,
    STRING_CHARS = 15, /* the offset, less the tag of the pointer */
    /* ScopeInfo, less the tag. */
    SCOPE_FLAGS = 7,
    SCOPE_LOCALS = 23,
    SCOPE_FIRST = 31,
    SCOPE_KIND = 15,
    MODULE_SCOPE = 3,
    HAS_SAVED_VARIABLE = 1 << 10,
    FUNCTION_VARIABLE = 3 << 12,
    HAS_INFERRED_NAME = 1 << 14,
    LOCALS_MOST = 4096,
    LOCALS_INLINE = 75,
    MOST_TEXT = 1 << 11,   /* characters of a text, and strings of which it consists */
    MOST_TABLE = 1 << 15,  /* bytes of a table of positions */
    MOST_CHUNKS = 1 << 15, /* of source code */
    CHUNK = 128,           /* bytes */
    NAME_MASK = 511,
};

struct javascript {
    struct sonde_stacks* stacks;
    struct sonde_javascript_walk* w;
    const struct sonde_javascript* layout;
    struct sonde_frame_cache* cache;
};
static inline u64 is_small_number(u64 word) { return (u32)word == 0; }
static inline u64 small_number(u64 word) { return word >> 32; }
static inline u64 type_of(const struct sonde_javascript* at, u64 object)
{
    unsigned short type = 0;
    u64 map = object & 1 ? read_user_word(object - 1) : 0;
    if (!(map & 1) || bpf_probe_read_user(&type, sizeof type, (const void*)(map - 1 + at->map_type)) != 0)
        return NO_TYPE;
    return type;
}
static inline u64 member(u64 object, u64 offset) { return read_user_word(object - 1 + offset); }
static inline u64 read_object(struct sonde_javascript_walk* w, u64 object)
{
    return bpf_probe_read_user(w->words, sizeof w->words, (const void*)(object - 1)) == 0;
}

/* ---- texts ---- */

/* Appends a character as UTF-8. A character of two units comes with the second one. */
static inline void add_char(struct sonde_javascript_walk* w, u64 i)
{
    u64 c = w->width == 1 ? ((u8*)w->raw)[masked(i, NAME_MASK)] : ((unsigned short*)w->raw)[masked(i, NAME_MASK >> 1)];
    if (w->text_size + 4 > w->most) {
        w->chars = w->pieces = 0;
        return;
    }
    if (c >> 10 == 0xd800 >> 10) {
        w->high = c;
        return;
    }
    if (c >> 10 == 0xdc00 >> 10 && w->high)
        c = 0x10000 + ((w->high & 0x3ff) << 10) + (c & 0x3ff);
    w->high = 0;
    u8* to = (u8*)w->text + masked(w->text_size, 255);
    if (c < 0x80) {
        to[0] = (u8)c;
        w->text_size += 1;
    } else if (c < 0x800) {
        to[0] = (u8)(0xc0 | c >> 6);
        to[1] = (u8)(0x80 | (c & 63));
        w->text_size += 2;
    } else if (c < 0x10000) {
        to[0] = (u8)(0xe0 | c >> 12);
        to[1] = (u8)(0x80 | (c >> 6 & 63));
        to[2] = (u8)(0x80 | (c & 63));
        w->text_size += 3;
    } else {
        to[0] = (u8)(0xf0 | c >> 18);
        to[1] = (u8)(0x80 | (c >> 12 & 63));
        to[2] = (u8)(0x80 | (c >> 6 & 63));
        to[3] = (u8)(0x80 | (c & 63));
        w->text_size += 4;
    }
}
/* Finds the characters of a string whose first words are in `words`. Returns 0 if it consists of other strings. */
ALWAYS_INLINE u64 find_chars(struct javascript* p, u64 string, u64 type)
{
    struct sonde_javascript_walk* w = p->w;
    w->chars = small_number(w->words[1]);
    w->width = type & IS_ONE_BYTE ? 1 : 2;
    w->chars_at = string + STRING_CHARS;
    if ((type & REPRESENTATION) == SEQUENTIAL)
        return 1;
    if ((type & REPRESENTATION) == EXTERNAL) {
        w->chars_at = w->words[3];
        return !(type & IS_UNCACHED);
    }
    if ((type & REPRESENTATION) != SLICED)
        return 0;
    u64 parent = w->words[2], skipped = small_number(w->words[3]), kind = type_of(p->layout, parent);
    w->width = kind & IS_ONE_BYTE ? 1 : 2;
    w->chars_at = parent + STRING_CHARS + skipped * w->width;
    if (kind >= FIRST_OTHER || (kind & REPRESENTATION & ~EXTERNAL) || kind & IS_UNCACHED)
        return 0;
    if ((kind & REPRESENTATION) == EXTERNAL)
        w->chars_at = member(parent, 24) + skipped * w->width;
    return 1;
}
/* One step: appends a character, reads those of the next string, or replaces it by the strings of which it consists. */
static long read_text(u64 i, struct javascript* p)
{
    (void)i;
    struct sonde_javascript_walk* w = p->w;
    if (w->next < w->chars) {
        add_char(w, w->next++);
        return 0;
    }
    if (!w->pieces)
        return 1;
    w->pieces--;
    u64 string = w->piece[masked(w->pieces, SONDE_JAVASCRIPT_PIECES - 1)], type = type_of(p->layout, string);
    w->failed = 1;
    if (type >= FIRST_OTHER || !read_object(w, string))
        return 1;
    if (!find_chars(p, string, type)) {
        u64 is_cons = (type & REPRESENTATION) == CONS;
        if ((!is_cons && (type & REPRESENTATION) != THIN) || w->pieces + 2 > SONDE_JAVASCRIPT_PIECES)
            return 1;
        if (is_cons)
            w->piece[masked(w->pieces++, SONDE_JAVASCRIPT_PIECES - 1)] = w->words[3];
        w->piece[masked(w->pieces++, SONDE_JAVASCRIPT_PIECES - 1)] = w->words[2];
        w->failed = w->next = w->chars = 0;
        return 0;
    }
    u64 skipped = w->skipped < w->chars ? w->skipped : w->chars, left = w->chars - skipped;
    w->skipped -= skipped;
    left = masked(left < 255 ? left : 255, 255);
    if (bpf_probe_read_user(w->raw, (u32)(left * (w->width == 1 ? 1 : 2)),
                            (const void*)(w->chars_at + skipped * w->width)) != 0)
        return 1;
    w->failed = w->next = 0;
    w->chars = left;
    return 0;
}
static long mix_text(u64 i, struct javascript* p)
{
    sonde_identify(&p->w->all.names, p->w->text[masked(i, SONDE_JAVASCRIPT_TEXT_WORDS - 1)]);
    return 0;
}
/* Reads a text as UTF-8, with fewer than `most` bytes, and adds it to the identity of the names. */
RT u64 sonde_rt_read_javascript_text(struct javascript* p, u64 string, u64 most, u64 is_end)
{
    struct sonde_javascript_walk* w = p->w;
    __builtin_memset(w->text, 0, sizeof w->text);
    u64 size = small_number(member(string, 8));
    w->text_size = w->high = w->failed = w->next = w->chars = 0;
    w->most = most + 3;
    w->skipped = is_end && size > most - 1 ? size - (most - 1) : 0;
    w->piece[0] = string;
    w->pieces = 1;
    LOOP(MOST_TEXT, read_text, p);
    if (w->failed || w->pieces || w->next < w->chars)
        return 0;
    sonde_identify(&w->all.names, w->text_size);
    LOOP((u32)(masked(w->text_size, NAME_MASK) + 7) / 8, mix_text, p);
    return 1;
}
/* Reads the names of the function and of its file. */
ALWAYS_INLINE u64 read_names(struct javascript* p)
{
    struct sonde_javascript_walk* w = p->w;
    static const char anonymous[] = "<anonymous>";
    w->all.names = (struct sonde_identity){};
    sonde_identify(&w->all.names, SONDE_LANGUAGE_JAVASCRIPT);
    w->all.texts.file[0] = 0;
    if (w->name && !sonde_rt_read_javascript_text(p, w->name, SONDE_INTERPRETED_FUNCTION_BYTES, 0))
        return 0;
    copy_bounded((u8*)w->all.texts.function, SONDE_INTERPRETED_FUNCTION_BYTES,
                 w->name ? (const u8*)w->text : (const u8*)anonymous);
    if (w->path && !sonde_rt_read_javascript_text(p, w->path, SONDE_INTERPRETED_FILE_BYTES, 1))
        return 0;
    if (w->path)
        copy_bounded((u8*)w->all.texts.file, SONDE_INTERPRETED_FILE_BYTES, (const u8*)w->text);
    return 1;
}

/* ---- the function of a frame ---- */

static inline u64 is_text(const struct sonde_javascript* at, u64 object)
{
    return type_of(at, object) < FIRST_OTHER && small_number(member(object, 8));
}
/* The name and the position of a function that has been compiled. */
static inline void read_scope(struct javascript* p)
{
    struct sonde_javascript_walk* w = p->w;
    u64 flags = small_number(read_user_word(w->scope + SCOPE_FLAGS)),
        locals = small_number(read_user_word(w->scope + SCOPE_LOCALS));
    u64 at = w->scope + SCOPE_FIRST;
    if (locals > LOCALS_MOST)
        return;
    at += locals < LOCALS_INLINE ? 16 * locals : 8 + 8 * locals;
    at += (flags & SCOPE_KIND) == MODULE_SCOPE ? p->layout->scope_module : 0;
    at += flags & HAS_SAVED_VARIABLE ? 8 : 0;
    if (flags & FUNCTION_VARIABLE) {
        u64 name = read_user_word(at);
        w->name = is_text(p->layout, name) ? name : 0;
        at += 16;
    }
    if (flags & HAS_INFERRED_NAME) {
        u64 name = read_user_word(at);
        w->name = w->name ? w->name : is_text(p->layout, name) ? name : 0;
        at += 8;
    }
    u64 start = read_user_word(at);
    w->start = is_small_number(start) && start >> 63 == 0 ? small_number(start) + 1 : 0;
}
/* Finds the function of the frame, whose words are in `frame`. Returns 0 if its objects are not what they should be. */
RT u64 sonde_rt_find_javascript_function(struct javascript* p)
{
    struct sonde_javascript_walk* w = p->w;
    const struct sonde_javascript* at = p->layout;
    w->name = w->path = w->start = w->code = w->line = 0;
    w->shared = member(w->function, at->function_shared);
    if (type_of(at, w->shared) != at->shared_type)
        return 0;
    w->scope = member(w->shared, at->shared_name);
    u64 type = type_of(at, w->scope);
    if (type == at->scope_type)
        read_scope(p);
    else if (is_text(at, w->scope))
        w->name = w->scope;
    w->script = member(w->shared, at->shared_script);
    if (type_of(at, w->script) != at->script_type)
        w->script = 0;
    if (w->script) {
        u64 path = member(w->script, at->script_name);
        w->path = is_text(at, path) ? path : 0;
    }
    u64 place = small_number(w->frame[0]) - (at->code_first - 1);
    if (is_small_number(w->frame[0]) && type_of(at, w->frame[1]) == at->code_type &&
        place < small_number(member(w->frame[1], 8))) {
        w->code = w->frame[1];
        w->wanted = place;
    }
    return 1;
}

/* ---- lines ---- */

static long read_position(u64 i, struct javascript* p)
{
    enum { PART = 512 };
    struct sonde_javascript_walk* w = p->w;
    if (i >= w->table_size)
        return 1;
    if (i % PART == 0) {
        u64 left = w->table_size - i;
        left = left < PART ? left : PART;
        if (bpf_probe_read_user(w->raw, (u32)(masked(left - 1, PART - 1) + 1), (const void*)(w->table + i)) != 0)
            return 1;
    }
    u64 byte = ((u8*)w->raw)[masked(i, PART - 1)];
    w->value |= (byte & 127) << (w->shift & 63);
    w->shift += 7;
    if (byte & 128)
        return w->shift > 56;
    s64 number = (s64)(w->value >> 1 ^ (0 - (w->value & 1)));
    w->value = w->shift = 0;
    if (w->is_position) {
        w->position += (u64)number;
        w->found = w->position;
    } else {
        w->at += (u64)(number < 0 ? -(number + 1) : number);
        if ((s64)w->at > (s64)w->wanted)
            return 1;
    }
    w->is_position = !w->is_position;
    return 0;
}
/* The position in the source, plus 1, of an instruction of the interpreter; 0: unknown. */
static inline u64 position_in_code(struct javascript* p)
{
    struct sonde_javascript_walk* w = p->w;
    const struct sonde_javascript* at = p->layout;
    u64 table = member(w->code, at->code_positions);
    if (type_of(at, table) != at->bytes_type)
        return 0;
    w->table = table + 15;
    w->table_size = small_number(member(table, 8));
    w->value = w->shift = w->is_position = w->position = w->found = 0;
    w->at = ~0ull; /* the entry for the function itself is before the first instruction */
    if (w->table_size > MOST_TABLE)
        return 0;
    LOOP(MOST_TABLE, read_position, p);
    return w->found & 1 ? 0 : w->found >> 1 & 0x3fffffff;
}
/* Marks the bytes of a word that are 0. */
static inline u64 zero_bytes(u64 word)
{
    const u64 low = 0x7f7f7f7f7f7f7f7f;
    return ~(((word & low) + low) | word | low);
}
static inline u64 zero_halves(u64 word)
{
    const u64 low = 0x7fff7fff7fff7fff;
    return ~(((word & low) + low) | word | low);
}
static inline u64 count_bits(u64 word) { return (u64)__builtin_popcountll(word); }
/* Counts the line ends in the next bytes of the source. */
static long count_lines(u64 i, struct javascript* p)
{
    struct sonde_javascript_walk* w = p->w;
    const u64 bytes = 0x0101010101010101, halves = 0x0001000100010001;
    u64 left = w->chars * w->width - i * CHUNK;
    if (i * CHUNK >= w->chars * w->width)
        return 1;
    left = left < CHUNK ? left : CHUNK;
    __builtin_memset(w->raw, 0, CHUNK);
    if (bpf_probe_read_user(w->raw, (u32)(masked(left - 1, CHUNK - 1) + 1), (const void*)(w->chars_at + i * CHUNK)) !=
        0) {
        w->failed = 1;
        return 1;
    }
    for (u64 n = 0; n < CHUNK / 8; n++) {
        u64 word = w->raw[n], line, back, pairs;
        if (w->width == 1) {
            line = zero_bytes(word ^ bytes * '\n');
            back = zero_bytes(word ^ bytes * '\r');
            pairs = (back << 8 | w->after_return << 7) & line;
        } else {
            line = zero_halves(word ^ halves * '\n');
            back = zero_halves(word ^ halves * '\r');
            pairs = (back << 16 | w->after_return << 15) & line;
            line |= zero_halves((word & ~halves) ^ halves * 0x2028);
        }
        w->after_return = back >> 63;
        w->line += count_bits(line) + count_bits(back) - count_bits(pairs);
    }
    return 0;
}
static long find_source(u64 i, struct javascript* p)
{
    (void)i;
    struct sonde_javascript_walk* w = p->w;
    u64 type = type_of(p->layout, w->source);
    if (type >= FIRST_OTHER || !read_object(w, w->source))
        return 1;
    if (find_chars(p, w->source, type)) {
        w->failed = 0;
        return 1;
    }
    /* V8 has made one text of it: the second one is empty. */
    if ((type & REPRESENTATION) != THIN && ((type & REPRESENTATION) != CONS || small_number(member(w->words[3], 8))))
        return 1;
    w->source = w->words[2];
    return 0;
}
/* Finds the line of the frame; 0: unknown. */
RT u64 sonde_rt_javascript_line(struct javascript* p)
{
    struct sonde_javascript_walk* w = p->w;
    const struct sonde_javascript* at = p->layout;
    u64 position = w->code ? position_in_code(p) : 0;
    position = position ? position : w->start;
    w->line = 0;
    if (!w->script || !position)
        return 0;
    w->source = member(w->script, at->script_source);
    w->failed = 1;
    LOOP(SONDE_JAVASCRIPT_PIECES, find_source, p);
    position--;
    if (w->failed || position > w->chars || position * w->width > (u64)CHUNK * MOST_CHUNKS)
        return 0;
    w->chars = position;
    w->after_return = 0;
    u64 first = member(w->script, at->script_name + 8);
    w->line = 1 + (is_small_number(first) ? small_number(first) : 0);
    LOOP(MOST_CHUNKS, count_lines, p);
    w->line = w->failed ? 0 : w->line;
    return w->line;
}

/* ---- frames ---- */

/* The word of the frame at `fp`; 0: it is not one of JavaScript. */
RT u64 sonde_rt_javascript_frame(struct javascript* p, u64 fp)
{
    struct sonde_javascript_walk* w = p->w;
    const struct sonde_javascript* at = p->layout;
    if (bpf_probe_read_user(w->frame, sizeof w->frame, (const void*)(fp - sizeof w->frame)) != 0)
        return 0;
    w->function = w->frame[3];
    u64 context = type_of(at, w->frame[4]), type = type_of(at, w->function);
    if (context < at->context_first || context > at->context_last || type < at->function_first ||
        type > at->function_last)
        return 0;
    if (!sonde_rt_find_javascript_function(p) || !read_names(p))
        return unnamed_frame(SONDE_LANGUAGE_JAVASCRIPT, SONDE_INTERPRETED_UNREADABLE, 0);
    /* The word depends on the source code, too. Its text is not compared, but while its objects are the same ones, it
     * is the same. */
    struct sonde_identity names = w->all.names;
    sonde_identify(&w->all.names, who_runs());
    sonde_identify(&w->all.names, w->shared);
    sonde_identify(&w->all.names, w->script);
    sonde_identify(&w->all.names, w->start);
    sonde_identify(&w->all.names, w->code ? w->wanted : ~0ull);
    w->all.contents = w->all.names;
    u64 word = known_frame(p->cache, &w->all);
    if (word)
        return word;
    w->all.names = names;
    struct sonde_identity contents = w->all.contents;
    word = sonde_rt_name_frame(&w->all, sonde_rt_javascript_line(p));
    w->all.contents = contents;
    /* A line is missing if a page of the source code is not in memory yet. */
    if (w->line || !w->script)
        keep_frame(p->cache, &w->all, word);
    return word;
}
static long take_frame(u64 i, struct javascript* p)
{
    struct sonde_stacks* s = p->stacks;
    u64 n = masked(i, SONDE_STACK_MOST - 1), next = masked(i + 1, SONDE_STACK_MOST - 1), fp = s->machine.fp[n];
    struct sonde_place* place = &s->place[n];
    if (i >= s->user.depth)
        return 1;
    u64 is_inside = place->place - p->layout->code_begin < p->layout->code_end - p->layout->code_begin;
    if (place->inode ? place->inode != p->w->all.inode || !is_inside : !place->owner)
        return 0;
    if (i + 1 < s->user.depth && s->machine.fp[next] == fp) /* the code has no frame of its own */
        return 0;
    u64 word = sonde_rt_javascript_frame(p, fp);
    if (!word)
        return 0;
    s->user.address[n] = word;
    place = &s->place[masked(i, SONDE_STACK_MOST - 1)];
    place->inode = place->owner = 0;
    place->place = word;
    return 0;
}
/* Replaces the frames of JavaScript, if V8 is in the user stack. */
ONCE int sonde_rt_follow_javascript(struct sonde_stacks* stacks, u64 most)
{
    u32 none = 0;
    if (!stacks || stacks->walk.language != SONDE_LANGUAGE_JAVASCRIPT)
        return 0;
    u32 element = (u32)stacks->walk.element;
    struct javascript p = {.stacks = stacks, .w = &stacks->javascript};
    p.layout = bpf_map_lookup_elem(&sonde_javascript, &element);
    p.cache = bpf_map_lookup_elem(&sonde_frame_cache, &none);
    if (!p.layout || !p.cache || !p.layout->version)
        return 0;
    LOOP((u32)most, take_frame, &p);
    /* Code that V8 generates has frame pointers. */
    if (stacks->user.state == SONDE_STACK_GUESSED && !stacks->machine.guessed_in_file)
        stacks->user.state = stacks->machine.state ? stacks->machine.state : SONDE_STACK_LOST;
    stacks->walk.loops[0] = stacks->walk.loops[1] = 0;
    return 0;
}
