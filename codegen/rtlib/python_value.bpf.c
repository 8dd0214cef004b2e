/* Values of Python: the text or number of a variable, of an attribute or of an object (runtime/plan/python.h).
 *
 * The problem: an object can contain others to any depth, and its text can be cut anywhere. Nested loops and functions
 * that call themselves would be too complex for the verifier.
 *
 * The idea: a machine with states. Each call of step() does one small thing, for example it reads the head of an
 * object, appends one character, or goes on to the next element of a list. All it knows is in struct sonde_python_work,
 * which is memory that the verifier does not track. So the verifier checks each state once. The containers that are
 * being printed are a stack of levels.
 *
 * Example: for `[1, 'a']`, VALUE finds a list, appends `[` and pushes a level. NEXT reads the first item, VALUE appends
 * `1`. NEXT appends `, ` and reads the second item. VALUE finds a text, SCAN chooses the quotes, and CHARS appends the
 * character and the quote. NEXT finds the end of the list, appends `]` and pops the level. Without levels, NEXT is
 * done.
 *
 * A search for a variable or an attribute is a walk over the same elements which compares names and prints nothing.
 *
 * The flags and the name of a class show the type of its objects. Each class is checked: if it is not an object of the
 * type `type`, the address is not that of an object. A part that cannot be read becomes `?`. A whole value that
 * cannot be read is an error.
 *
 * What would break it: a change of the object by another thread. The interpreter's lock prevents this, because
 * handlers run in the thread that has the lock. */
#include "python_value.h"
#include "../../arch/host/pt_regs.h"
#include "../../runtime/plan/python.h"
#include "rt.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_probe_read_user)(void* dst, u32 size, const void* address) = (void*)112;
static long (*const bpf_copy_from_user)(void* dst, u32 size, const void* address) = (void*)148;

extern u8 sonde_python; /* a map, defined by the script's module */

u64 sonde_rt_append(u8* slot, u64 len, const u8* src);
u64 sonde_rt_append_long(struct sonde_slot* to, u64 len, s64 value, u64 spec);
u64 sonde_rt_float_text(struct sonde_slot* to, u64 len, struct sonde_float_work* w);

#define INLINE static inline __attribute__((always_inline))
#define OUTLINE __attribute__((noinline))

/* States. */
enum {
    FRAME,
    EXCEPTION,
    VALUE,
    INT,
    OTHER,
    CLASS,
    SCAN,
    CHARS,
    NEXT,
    NEXT_ENTRY,
    NEXT_MEMBER,
    NEXT_VARIABLE,
    ATTRIBUTES,
    NEXT_CLASS,
    NUMBER,
    DECIMAL,
    POINT,
    REAL
};
/* Kinds of levels. FIELDS: numbers of a date or time. DELTA: numbers with names. BLOCKS: of a deque. */
enum { ITEMS, ENTRIES, SET, MEMBERS, VARIABLES, FIELDS, DELTA, BLOCKS };
/* Styles of levels: `1, 2`, `1: 2` and `a=1`. */
enum { LIST, PAIRS_OF_VALUES, NAMED };
/* Phases of levels: before an element, before the value after a key, before the opening parenthesis, in the search for
 * the cell of a parameter, before the object's own name (a text of Python, or one of C). */
enum { ELEMENT, PAIR, OPENING, CELL, OWN_NAME, OWN_C_NAME };
/* How characters are copied: as they are, as in a literal, as the bytes of a literal, up to a NUL. */
enum { RAW, QUOTED, BYTES, C_NAME };

/* Members of PyTypeObject and others, which are the same in all versions. */
enum {
    TYPE_BASIC_SIZE = 32,
    TYPE_MEMBERS = 240,
    TYPE_BASE = 256,
    TYPE_ATTRIBUTES = 264, /* tp_dict: a dictionary */
    TYPE_GET = 272,        /* tp_descr_get: a function that computes the value of an attribute; or 0 */
    TYPE_BASES = 344,      /* tp_mro: a tuple with the class and all its bases */
    MEMBER_BYTES = 40,     /* struct PyMemberDef: name, kind, offset */
    MEMBER_OBJECT = 6,
    MEMBER_OBJECT_OR_ERROR = 16,
    EXCEPTION_ARGUMENTS = 24,
    NAMED_ITEM_INDEX = 16, /* _collections._tuplegetter */
    /* Of objects of classes that are written in C; equal from 3.8 to 3.13 at least. */
    METHOD_FUNCTION = 16,
    C_FUNCTION_ENTRY = 16, /* struct PyMethodDef, which begins with the name */
    MODULE_NAME = 48,
    BYTEARRAY_START = 40,
    FIRST_PART = 16, /* of a range or slice: start, stop, step; of a timezone: its difference from UTC */
    NAMESPACE_DICT = 16,
    DATE_HAS_ZONE = 24, /* a byte, and after it the numbers */
    DELTA_NUMBERS = 24,
    DEQUE_BLOCK = 24, /* the leftmost one */
    DEQUE_INDEX = 40,
    BLOCK_ITEMS = 8, /* of a deque's block: 64 items between the blocks to the left and to the right */
    BLOCK_RIGHT = 520,
    DECIMAL_FLAGS = 24,   /* struct mpd_t: flags, exponent, digits, words, allocated words, address of the words */
    DICT_VALUES_SIZE = 1, /* struct _dictvalues since 3.13 */
    DICT_VALUES_VALID = 3,
    DICT_VALUES_ITEMS = 8,
    STEPS = 1 << 14,
    DEEPEST = 6,
};
/* Bits of a class' flags (tp_flags). */
#define HAS_INLINE_VALUES (1ull << 2)
#define HAS_MANAGED_DICT (1ull << 4)
#define IS_HEAP_TYPE (1ull << 9)
#define IS_INT (1ull << 24)
#define IS_LIST (1ull << 25)
#define IS_TUPLE (1ull << 26)
#define IS_BYTES (1ull << 27)
#define IS_TEXT (1ull << 28)
#define IS_DICT (1ull << 29)
#define IS_EXCEPTION (1ull << 30)
#define IS_TYPE (1ull << 31)
/* Kinds of variables (co_localspluskinds). */
enum { CELL_OR_FREE = 0x40 | 0x80 };

/* Up to 8 characters as a number, the first one lowest. */
#define T1(a) ((u64)(u8)(a))
#define T2(a, b) (T1(a) | T1(b) << 8)
#define T4(a, b, c, d) (T2(a, b) | T2(c, d) << 16)
#define T8(a, b, c, d, e, f, g, h) (T4(a, b, c, d) | T4(e, f, g, h) << 32)

struct run {
    u8* slot;
    struct sonde_python_work* w;
    const struct sonde_python* p;
};

/* Reads `size` bytes (1 to 64) of the process. There are two functions for each way to read, because the verifier
 * rejects a function that may wait in programs that must not. All are functions of their own: inlined, they were half
 * of the code. */
static OUTLINE long get_now(void* to, u32 size, u64 address) {
    return bpf_probe_read_user(to, size, (const void*)sonde_whole_address(address)) != 0;
}
static OUTLINE long get_wait(void* to, u32 size, u64 address) {
    address = sonde_whole_address(address);
    if (bpf_probe_read_user(to, size, (const void*)address) == 0)
        return 0;
    return bpf_copy_from_user(to, size, (const void*)address) != 0;
}
INLINE long get(void* to, u32 size, u64 address, int wait) {
    return wait ? get_wait(to, size, address) : get_now(to, size, address);
}
/* Reads `words` 8-byte words to w->word. */
#define GET(words, address) get(w->word, 8 * (words), address, wait)

/* 1 for any number but 0, without a branch. */
INLINE u64 any(u64 x) {
    u64 sign = x | (0 - x);
    __asm__ volatile("" : "+r"(sign));
    return sign >> 63;
}
INLINE struct sonde_python_level* level(struct sonde_python_work* w, u64 i) {
    return &w->level[masked(i, PYTHON_VALUE_LEVELS - 1)];
}
INLINE struct sonde_python_level* top(struct sonde_python_work* w) { return level(w, w->used - 1); }

/* Appends up to 8 characters. Returns 1 if they do not fit. */
static OUTLINE long put(struct run* r, u64 text) {
    struct sonde_python_work* w = r->w;
    u64 len = w->length, n = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        n += any(text >> 8 * i);
    if (len + n > w->limit) {
        w->cut = 1;
        return 1;
    }
    u8* out = r->slot + masked(len, MASK);
#pragma unroll
    for (int i = 0; i < 8; i++)
        out[i] = (u8)(text >> 8 * i);
    w->length = len + n;
    return 0;
}
/* A value that cannot be read: `?`, or an error if it is the whole one. */
INLINE long fail(struct run* r, u64 status) {
    struct sonde_python_work* w = r->w;
    if (w->used == 0 || w->searching) {
        w->status = status;
        return 1;
    }
    w->state = NEXT;
    return put(r, '?');
}
/* The same for the elements of a level, of which the rest is left out. */
INLINE long fail_level(struct run* r, u64 status) {
    struct sonde_python_level* l = top(r->w);
    l->kind = ITEMS;
    l->index = l->count = 0;
    return fail(r, status);
}
/* The end of a search. */
INLINE long found(struct run* r, u64 object) {
    struct sonde_python_work* w = r->w;
    w->searching = 0;
    w->used = 0;
    w->step++;
    w->object = object;
    w->state = VALUE;
    return 0;
}
INLINE long finish_number(struct run* r, u64 number) {
    struct sonde_python_work* w = r->w;
    w->state = NUMBER;
    w->number = number;
    return w->to_number;
}
/* Adds a level, if there is room. `end`: the text after its last element. */
INLINE struct sonde_python_level* push(struct sonde_python_work* w, u64 kind, u64 style, u64 end) {
    struct sonde_python_level* l = level(w, w->used);
    w->used++;
    l->kind = kind;
    l->style = style;
    l->end = end;
    l->object = w->object;
    l->depth = w->depth + 1;
    l->at = l->values = l->order = l->stride = 0;
    l->index = l->count = l->shown = l->phase = l->pending = 0;
    w->state = NEXT;
    return l;
}
INLINE int is_open(struct sonde_python_work* w) { return w->depth == 0 || (w->deep && w->depth < DEEPEST); }

/* Reads the beginning of a class' name to w->word[0] and w->word[1]. */
INLINE long get_name(struct run* r, u64 type, int wait) {
    struct sonde_python_work* w = r->w;
    return GET(1, type + r->p->type_name) || GET(2, w->word[0]);
}
INLINE int is_name(u64 word, u64 name, u64 bytes) {
    return (word & (bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1)) == name;
}

INLINE void begin_chars(struct sonde_python_work* w, u64 address, u64 count, u64 unit, u64 mode) {
    w->chars = w->first = address;
    w->left = w->all = count;
    w->unit = unit;
    w->mode = mode;
    w->quote = 0;
    w->chunk_begin = w->chunk_end = 0;
    w->state = mode == QUOTED || mode == BYTES ? SCAN : CHARS;
}
/* Begins to copy a text of Python. */
INLINE long begin_text(struct run* r, u64 object, u64 mode, int wait) {
    struct sonde_python_work* w = r->w;
    if (GET(5, object))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 state = w->word[SONDE_PYTHON_TEXT_STATE / 8], count = w->word[SONDE_PYTHON_SIZE / 8], unit = state >> 2 & 7;
    u64 data = object + (state >> 6 & 1 ? r->p->text_data : r->p->text_wide);
    if (GET(1, w->word[SONDE_PYTHON_TYPE / 8] + r->p->type_flags))
        return fail(r, PYTHON_VALUE_FAULT);
    if (!(w->word[0] & IS_TEXT) || (unit != 1 && unit != 2 && unit != 4))
        return fail(r, PYTHON_VALUE_NO_OBJECT);
    if (!(state >> 5 & 1)) { /* not compact: an object of a subclass */
        if (GET(1, object + r->p->text_wide))
            return fail(r, PYTHON_VALUE_FAULT);
        data = w->word[0];
    }
    begin_chars(w, data, count, unit, mode);
    return 0;
}

/* Whether the text at an address is the name that is searched: 1, 0, or -1 after a fault. */
INLINE long is_wanted(struct sonde_python_work* w, u64 address, u64 bytes, int wait) {
    u64* chunk = (u64*)w->chunk;
    const u64* name = (const u64*)w->names[masked(w->step, PYTHON_VALUE_STEPS - 1)];
#pragma unroll
    for (int i = 0; i < PYTHON_VALUE_NAME / 8; i++)
        chunk[i] = 0;
    if (get(chunk, (u32)masked(bytes - 1, PYTHON_VALUE_NAME - 1) + 1, address, wait))
        return -1;
    u64 difference = 0;
#pragma unroll
    for (int i = 0; i < PYTHON_VALUE_NAME / 8; i++)
        difference |= chunk[i] ^ name[i];
    return difference == 0;
}
/* The same for a text of Python. */
INLINE long is_wanted_text(struct run* r, u64 object, int wait) {
    struct sonde_python_work* w = r->w;
    if (GET(5, object))
        return -1;
    u64 state = w->word[SONDE_PYTHON_TEXT_STATE / 8] >> 5 & 3;
    if (state != 3 || w->word[SONDE_PYTHON_SIZE / 8] != w->wanted) /* compact and ASCII */
        return 0;
    return is_wanted(w, object + r->p->text_data, w->wanted, wait);
}

/* Finds the constant that a frame's function returns. Its number is the upper byte of the instruction. If the number is
 * larger, the instruction before has the rest. */
INLINE long find_constant(struct run* r, u64 frame, u64 code, int wait) {
    struct sonde_python_work* w = r->w;
    const struct sonde_python* p = r->p;
    u64 extension = p->version >= 13 ? 71 : 144; /* EXTENDED_ARG */
    if (GET(1, frame + p->frame_instr))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 at = w->word[0];
    w->word[0] = 0;
    if (get(w->word, 4, at - 2, wait) || get(&w->word[1], 8, code + p->code_constants, wait) ||
        get(&w->word[2], 8, w->word[1] + SONDE_PYTHON_SIZE, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 before = w->word[0] & 0xffff, number = w->word[0] >> 24, count = w->word[2];
    if (count > 256 && (before & 0xff) == extension)
        number |= before & 0xff00;
    if (number >= count)
        return fail(r, PYTHON_VALUE_FAULT);
    u64 items = p->tuple_items ? p->tuple_items : SONDE_PYTHON_ITEMS;
    if (get(w->word, 8, w->word[1] + items + 8 * number, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    return found(r, w->word[0]);
}
/* Finds the variables of the frame in w->object. */
INLINE long begin_frame(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    const struct sonde_python* p = r->p;
    u64 frame = w->object, step = w->steps[0];
    w->wanted = copy_bounded(w->chunk, PYTHON_VALUE_NAME, w->names[0]);
    if (GET(1, frame + p->frame_code))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 code = w->code = w->word[0] & ~3ull;
    if (GET(2, code) || get_name(r, w->word[1], wait))
        return fail(r, PYTHON_VALUE_FAULT);
    if (!is_name(w->word[0], T4('c', 'o', 'd', 'e'), 5))
        return fail(r, PYTHON_VALUE_NO_FRAME);
    if (step == SONDE_PYTHON_CONSTANT)
        return find_constant(r, frame, code, wait);
    w->word[0] = w->word[1] = w->word[2] = w->word[3] = 0;
    if (get(&w->word[0], 4, code + p->code_flags, wait) || get(&w->word[1], 4, code + p->code_arguments, wait) ||
        get(&w->word[2], 4, code + p->code_keyword_arguments, wait) ||
        get(&w->word[3], 4, code + p->code_locals, wait) || get(&w->word[4], 8, code + p->code_names, wait) ||
        (p->code_kinds && get(&w->word[5], 8, code + p->code_kinds, wait)) ||
        (p->code_cell_arguments && get(&w->word[6], 8, code + p->code_cell_arguments, wait)))
        return fail(r, PYTHON_VALUE_FAULT);
    /* Positional and keyword-only ones, *args (flag 4) and **kwargs (flag 8). */
    w->parameters = w->word[1] + w->word[2] + (w->word[0] >> 2 & 1) + (w->word[0] >> 3 & 1);
    w->plain = w->word[3];
    w->locals = frame + p->frame_locals;
    w->cells = p->code_cell_arguments ? w->word[6] : 0;
    w->stage = 0;
    w->cell_count = 0;
    struct sonde_python_level* l = push(w, VARIABLES, NAMED, 0);
    l->depth = 0;
    l->at = w->word[4] + (p->tuple_items ? p->tuple_items : SONDE_PYTHON_ITEMS);
    l->values = w->locals;
    l->order = p->code_kinds ? w->word[5] + SONDE_PYTHON_BYTES : 0;
    l->index = step == SONDE_PYTHON_LOCALS ? w->parameters : 0;
    l->count = step == SONDE_PYTHON_PARAMETERS ? w->parameters : w->plain;
    w->searching = step == SONDE_PYTHON_VARIABLE;
    if (w->cells) { /* the number of cells */
        if (GET(1, code + p->code_cells) || GET(1, w->word[0] + SONDE_PYTHON_SIZE))
            return fail(r, PYTHON_VALUE_FAULT);
        w->cell_count = w->word[0];
    }
    return 0;
}

/* Pushes the elements of an object. If these are too deep, appends `...` instead. */
INLINE struct sonde_python_level* push_container(struct run* r, u64 kind, u64 style, u64 end, u64 count) {
    struct sonde_python_work* w = r->w;
    struct sonde_python_level* l = push(w, kind, style, end);
    l->count = count;
    if (count && !is_open(w)) {
        l->kind = ITEMS;
        l->count = 0;
        put(r, T4('.', '.', '.', 0));
    }
    return l;
}

/* Finds the entries of a table of keys. `values`: the address of separate values, or 0. */
INLINE long begin_keys(struct run* r, struct sonde_python_level* l, u64 keys, u64 values, int wait) {
    struct sonde_python_work* w = r->w;
    const struct sonde_python* p = r->p;
    if (get(&w->word[0], 8, keys + p->keys_size, wait) || get(&w->word[1], 8, keys + p->keys_entries, wait))
        return 1;
    u64 size = w->word[0], indices, stride = 24;
    if (p->version >= 11) {
        indices = 1ull << (size >> 8 & 31); /* size: bytes with logarithms of two sizes, and the kind of keys */
        stride = (u8)(size >> 16) ? 16 : 24;
    } else {
        indices = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8);
    }
    l->stride = stride;
    l->at = keys + p->keys_indices + indices + (stride == 24 ? 8 : 0); /* those of 24 bytes begin with the hash */
    l->count = w->word[1];
    l->order = 0;
    l->values = values;
    if (values && p->version >= 13) {
        w->word[0] = 0;
        if (get(w->word, 2, values, wait))
            return 1;
        u64 capacity = (u8)w->word[0];
        l->count = (u8)(w->word[0] >> 8);
        l->values = values + DICT_VALUES_ITEMS;
        l->order = l->values + 8 * capacity;
    } else if (values && p->version >= 11) { /* the number and the order are before the values, downwards */
        w->word[0] = 0;
        if (get(w->word, 1, values - 2, wait))
            return 1;
        l->count = (u8)w->word[0];
        l->order = values - 3;
    }
    l->kind = ENTRIES;
    l->index = 0;
    return 0;
}
INLINE long begin_dict(struct run* r, struct sonde_python_level* l, u64 dict, int wait) {
    struct sonde_python_work* w = r->w;
    if (GET(2, dict + SONDE_PYTHON_DICT_KEYS))
        return 1;
    return begin_keys(r, l, w->word[0], w->word[1], wait);
}

/* Goes on with an object's own attributes, after its slots. */
INLINE long begin_attributes(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    const struct sonde_python* p = r->p;
    struct sonde_python_level* l = top(w);
    u64 object = l->object, dict = 0, values = 0;
    w->state = NEXT;
    l->kind = ITEMS;
    l->index = l->count = 0;
    if (GET(2, object))
        return fail_level(r, PYTHON_VALUE_FAULT);
    u64 type = w->word[1];
    if (GET(1, type + p->type_flags))
        return fail_level(r, PYTHON_VALUE_FAULT);
    u64 flags = w->word[0];
    if (p->version >= 13 && (flags & HAS_INLINE_VALUES)) {
        if (GET(1, type + TYPE_BASIC_SIZE))
            return fail_level(r, PYTHON_VALUE_FAULT);
        values = object + w->word[0];
        if (GET(1, values))
            return fail_level(r, PYTHON_VALUE_FAULT);
        if (!(u8)(w->word[0] >> 8 * DICT_VALUES_VALID))
            values = 0;
    }
    if (values == 0 && p->version >= 11 && (flags & HAS_MANAGED_DICT)) {
        if (GET(2, object - 32))
            return fail_level(r, PYTHON_VALUE_FAULT);
        dict = w->word[1];
        if (p->version == 11)
            values = w->word[0];
        if (p->version == 12 && (dict & 1)) {
            values = dict + 1;
            dict = 0;
        }
    } else if (values == 0) {
        if (GET(1, type + p->type_dictionary))
            return fail_level(r, PYTHON_VALUE_FAULT);
        s64 offset = (s64)w->word[0];
        if (offset > 0 && GET(1, object + (u64)offset))
            return fail_level(r, PYTHON_VALUE_FAULT);
        if (offset > 0)
            dict = w->word[0];
    }
    if (values) {
        if (GET(1, type + p->type_keys))
            return fail_level(r, PYTHON_VALUE_FAULT);
        if (begin_keys(r, l, w->word[0], values, wait))
            return fail_level(r, PYTHON_VALUE_FAULT);
    } else if (dict) {
        if (begin_dict(r, l, dict, wait))
            return fail_level(r, PYTHON_VALUE_FAULT);
    }
    return 0;
}

/* An int: number, or text. */
INLINE long value_of_int(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    u64 count, negative, object = w->object;
    if (GET(1, object + SONDE_PYTHON_SIZE))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 size = w->word[0];
    if (r->p->long_tag) { /* the lowest two bits: 0 positive, 1 zero, 2 negative */
        count = size >> 3;
        negative = size >> 1 & 1;
        if (size & 1)
            count = 0;
    } else {
        negative = size >> 63;
        count = negative ? 0 - size : size;
    }
    w->negative = negative;
#pragma unroll
    for (int i = 0; i < 6; i++)
        w->digit[i] = 0;
    if (count > 5) {
        if (w->to_number)
            return fail(r, PYTHON_VALUE_TOO_LARGE);
        w->word[0] = 0;
        if (get(w->word, 4, object + SONDE_PYTHON_DIGITS + 4 * (count - 1), wait))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 high = w->word[0], bits = 0;
#pragma unroll
        for (u64 half = 16; half; half /= 2) {
            u64 by = any(high >> half) * half;
            bits += by;
            high >>= by;
        }
        bits += high;
        push(w, ITEMS, LIST, T8(' ', 'b', 'i', 't', 's', '>', 0, 0));
        w->state = NUMBER;
        w->number = 30 * (count - 1) + bits;
        return put(r, T8('<', 'i', 'n', 't', ' ', 'o', 'f', ' '));
    }
    if (count && get(w->digit, (u32)masked(4 * count - 1, 31) + 1, object + SONDE_PYTHON_DIGITS, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 magnitude = w->digit[0] | (u64)w->digit[1] << 30 | (u64)w->digit[2] << 60;
    u64 fits = !(w->digit[2] >> 4 || w->digit[3] || w->digit[4]);
    if (fits && magnitude <= 0x7fffffffffffffffull + negative)
        return finish_number(r, negative ? 0 - magnitude : magnitude);
    if (w->to_number)
        return fail(r, PYTHON_VALUE_TOO_LARGE);
    w->place = sizeof w->decimal - 1;
    w->state = DECIMAL;
    return 0;
}
/* Divides the int in w->digit by ten. */
static OUTLINE long divide(struct run* r) {
    struct sonde_python_work* w = r->w;
    u64 rest = 0, all = 0;
#pragma unroll
    for (int i = 4; i >= 0; i--) {
        u64 part = rest << 30 | w->digit[i];
        w->digit[i] = (u32)(part / 10);
        rest = part % 10;
        all |= part / 10;
    }
    u64 place = w->place - 1;
    w->place = place;
    w->decimal[masked(place, 63)] = (u8)('0' + rest);
    if (all)
        return 0;
    w->decimal[63] = 0;
    w->state = NEXT;
    if (w->with_point) {
        w->state = POINT;
        w->with_point = 0;
        w->first = place;
        s64 digits = (s64)(63 - place), before = (s64)w->exponent + digits;
        /* The point's place among the digits, as Python chooses it; or after the first digit, and an exponent. */
        const u64 is_plain = (s64)w->exponent <= 0 && before > -6;
        w->point = is_plain ? before : 1;
        w->number = (u64)(before - w->point);
        w->shown_place = w->point <= 0 ? w->point - 1 : 0;
        return 0;
    }
    if (w->negative && put(r, '-'))
        return 1;
    u64 len = w->length, n = 63 - place;
    if (len + n > w->limit) {
        w->cut = 1;
        return 1;
    }
    w->length = sonde_rt_append(r->slot, len, w->decimal + masked(place, 63));
    return 0;
}

/* Puts the next character of a decimal.Decimal: its digits from w->decimal, zeros before them, the point, and the
 * exponent. `shown_place` is the place among the digits; those before the first one are zeros. */
static OUTLINE long put_digit(struct run* r) {
    struct sonde_python_work* w = r->w;
    s64 digits = (s64)(63 - w->first), i = w->shown_place, lowest = w->point <= 0 ? w->point - 1 : 0;
    if (i < digits) {
        u64 c = i < 0 ? '0' : w->decimal[masked(w->first + (u64)i, 63)];
        w->shown_place = i + 1;
        return put(r, i == w->point && i > lowest ? T2('.', c) : c);
    }
    w->state = NEXT;
    if (!w->number)
        return 0;
    w->state = NUMBER;
    return put(r, (s64)w->number > 0 ? T2('E', '+') : 'E');
}

/* Whether a type is built in and has this name of up to 7 characters; w->word has the name. */
#define IS_BUILT_IN(name, bytes) (!(flags & IS_HEAP_TYPE) && is_name(w->word[0], name, (bytes) + 1))

/* Objects that are not numbers, texts or containers, by their classes' names. */
INLINE long value_of_other(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    u64 object = w->object, type = w->type, flags = w->flags;
    if (get_name(r, type, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    const u64 frozen =
        is_name(w->word[0], T8('f', 'r', 'o', 'z', 'e', 'n', 's', 'e'), 8) && (w->word[1] & 0xffff) == 't';
    const u64 none = is_name(w->word[0], T8('N', 'o', 'n', 'e', 'T', 'y', 'p', 'e'), 8) && !(u8)w->word[1];
    const u64 is_float = IS_BUILT_IN(T8('f', 'l', 'o', 'a', 't', 0, 0, 0), 5);
    const u64 is_heap = !!(flags & IS_HEAP_TYPE);
    if (w->to_number)
        return fail(r, !is_heap && none ? PYTHON_VALUE_IS_NONE
                       : is_float       ? PYTHON_VALUE_IS_FLOAT
                                        : PYTHON_VALUE_NO_NUMBER);
    if (!is_heap && none) {
        w->state = NEXT;
        return put(r, T4('N', 'o', 'n', 'e'));
    }
    if (is_float) {
        if (get(&w->real.bits, 8, object + SONDE_PYTHON_FLOAT, wait))
            return fail(r, PYTHON_VALUE_FAULT);
        w->state = REAL;
        return 0;
    }
    if (IS_BUILT_IN(T4('s', 'e', 't', 0), 3) || (!is_heap && frozen)) {
        if (GET(3, object + SONDE_PYTHON_SET_USED))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 used = w->word[0], mask = w->word[1], table = w->word[2];
        if (frozen && (put(r, T8('f', 'r', 'o', 'z', 'e', 'n', 's', 'e')) || put(r, T2('t', '('))))
            return 1;
        if (!used && !frozen && put(r, T4('s', 'e', 't', '(')))
            return 1;
        if (used && put(r, '{'))
            return 1;
        struct sonde_python_level* l = push_container(r, SET, LIST,
                                                      !used    ? ')'
                                                      : frozen ? T2('}', ')')
                                                               : '}',
                                                      used ? mask + 1 : 0);
        l->at = table;
        return 0;
    }
    w->state = CLASS;
    return 0;
}

/* Begins with the class' name, which is followed by `(` and numbers. */
INLINE struct sonde_python_level* push_fields(struct run* r, u64 kind, u64 at, u64 count) {
    struct sonde_python_level* l = push(r->w, kind, LIST, ')');
    l->at = at;
    l->count = count;
    l->phase = OPENING;
    return l;
}
/* The numbers of a date or time: those of `datetime` are year, month, day, hour, minute, second, microsecond. Zeros at
 * the end are left out, as Python does it. */
INLINE long begin_date(struct run* r, u64 object, u64 is_date, u64 is_time, u64 name, int wait) {
    struct sonde_python_work* w = r->w;
    w->word[0] = w->word[1] = 0;
    if (get(w->word, 11, object + DATE_HAS_ZONE, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    /* Bytes: 1 whether it has a zone, 2 year, 1 month, 1 day, 1 hour, 1 minute, 1 second, 3 microsecond; a time begins
     * with the hour. */
    u64 first = w->word[0], second = w->word[1], has_zone = (u8)first && !is_date;
    u64 year = (first >> 8 & 0xff) << 8 | (first >> 16 & 0xff), month = first >> 24 & 0xff, day = first >> 32 & 0xff;
    u64 seconds = first >> 56 & 0xff;
    u64 us = (second & 0xff) << 16 | (second >> 8 & 0xff) << 8 | (second >> 16 & 0xff);
    if (is_time) {
        seconds = month;
        us = day << 16 | (first >> 40 & 0xff) << 8 | (first >> 48 & 0xff);
    }
    u64 count = is_date ? 3 : is_time ? 2 : 5;
    u64 more = us ? 2 : seconds ? 1 : 0;
    struct sonde_python_level* l = push_fields(r, FIELDS, 0, is_date ? 3 : count + more + has_zone);
    l->pending = 0;
    if (has_zone) {
        if (GET(1, object + (is_time ? 32 : 40)))
            return fail_level(r, PYTHON_VALUE_FAULT);
        l->pending = w->word[0];
    }
    /* Fields of 8 bits each, from the first one on; microseconds are apart. */
    l->values = is_time ? (first >> 8 & 0xff) | (first >> 16 & 0xff) << 8 | (seconds << 16)
                        : month | day << 8 | (first >> 40 & 0xff) << 16 | (first >> 48 & 0xff) << 24 | seconds << 32;
    l->at = year;
    l->order = us;
    l->stride = is_time ? 3 : 6; /* the index of the microseconds */
    begin_chars(w, name, ~0ull >> 1, 1, C_NAME);
    return 0;
}
/* The coefficient of a decimal.Decimal consists of words with 19 digits each. Up to two of them are converted to the
 * form of an int, whose digits `divide` finds. */
INLINE long begin_decimal(struct run* r, u64 object, int wait) {
    struct sonde_python_work* w = r->w;
    if (GET(6, object + DECIMAL_FLAGS))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 flags = (u8)w->word[0], words = w->word[3];
    enum { NEGATIVE = 1, INFINITE = 2, QUIET = 4, SIGNALING = 8 };
    const u64 special = flags & (INFINITE | QUIET | SIGNALING), too_long = !special && (words < 1 || words > 2);
    w->exponent = w->word[1];
    if (too_long) {
        push(w, ITEMS, LIST, T8(' ', 'd', 'i', 'g', 'i', 't', 's', '>'));
        w->number = w->word[2];
        w->state = NUMBER;
        return put(r, T8('<', 'D', 'e', 'c', 'i', 'm', 'a', 'l')) || put(r, T4(' ', 'o', 'f', ' '));
    }
    if (put(r, T8('D', 'e', 'c', 'i', 'm', 'a', 'l', '(')) || put(r, flags & NEGATIVE ? T2('\'', '-') : '\''))
        return 1;
    push(w, ITEMS, LIST, T2('\'', ')'));
    if (special & INFINITE)
        return put(r, T8('I', 'n', 'f', 'i', 'n', 'i', 't', 'y'));
    if (special)
        return (special & SIGNALING && put(r, 's')) || put(r, T4('N', 'a', 'N', 0));
    u64 data = w->word[5];
    w->word[1] = 0;
    if (get(w->word, (u32)masked(8 * words - 1, 15) + 1, data, wait))
        return fail_level(r, PYTHON_VALUE_FAULT);
    /* high * 10^19 + low, in digits of 30 bits; 10^19 as such digits. */
    const u64 mask = (1ull << 30) - 1, base[3] = {10000000000000000000ull & mask, 10000000000000000000ull >> 30 & mask,
                                                  10000000000000000000ull >> 60};
    u64 high = w->word[1], low = w->word[0], carry = 0;
#pragma unroll
    for (int i = 0; i < 5; i++) {
        u64 sum = carry + (i < 3 ? low >> 30 * i & mask : 0);
#pragma unroll
        for (int k = 0; k < 3; k++)
            if (i - k >= 0 && i - k < 3)
                sum += base[k] * (high >> 30 * (i - k) & mask);
        w->digit[i] = (u32)(sum & mask);
        carry = sum >> 30;
    }
    w->negative = 0;
    w->with_point = 1;
    w->place = sizeof w->decimal - 1;
    w->state = DECIMAL;
    return 0;
}
/* Objects of other classes: those that are written in C and known by name, and for classes of Python the attributes. */
INLINE long value_of_class(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    u64 object = w->object, type = w->type;
    const u64 is_heap = !!(w->flags & IS_HEAP_TYPE);
    if (GET(1, type + r->p->type_name))
        return fail(r, PYTHON_VALUE_FAULT);
    const u64 name = w->word[0];
    if (GET(2, name))
        return fail(r, PYTHON_VALUE_FAULT);
    const u64 first = w->word[0], second = w->word[1];
    /* A name with a dot is that of a class that is written in C, in an extension module. */
    if (first == T8('d', 'a', 't', 'e', 't', 'i', 'm', 'e') && (u8)second == '.') {
        const u64 is_date = is_name(second, T8('.', 'd', 'a', 't', 'e', 0, 0, 0), 6);
        const u64 is_time = is_name(second, T8('.', 't', 'i', 'm', 'e', 0, 0, 0), 6);
        if (is_date || is_time || second == T8('.', 'd', 'a', 't', 'e', 't', 'i', 'm'))
            return begin_date(r, object, is_date, is_time, name, wait);
        if (second == T8('.', 't', 'i', 'm', 'e', 'd', 'e', 'l')) {
            if (GET(2, object + DELTA_NUMBERS))
                return fail(r, PYTHON_VALUE_FAULT);
            u64 days = w->word[0] & 0xffffffff, seconds = w->word[0] >> 32, us = w->word[1] & 0xffffffff;
            struct sonde_python_level* l = push_fields(r, DELTA, days, 3);
            l->values = seconds;
            l->order = us;
            begin_chars(w, name, ~0ull >> 1, 1, C_NAME);
            return 0;
        }
    }
    if (first == T8('c', 'o', 'l', 'l', 'e', 'c', 't', 'i') && second == T8('o', 'n', 's', '.', 'd', 'e', 'q', 'u')) {
        if (GET(1, object + SONDE_PYTHON_SIZE) || get(&w->word[1], 24, object + DEQUE_BLOCK, wait))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 count = w->word[0], block = w->word[1], index = w->word[3];
        if (put(r, T8('d', 'e', 'q', 'u', 'e', '(', '[', 0)))
            return 1;
        struct sonde_python_level* l = push_container(r, BLOCKS, LIST, T2(']', ')'), count);
        l->at = block;
        l->order = index;
        return 0;
    }
    if (first == T8('d', 'e', 'c', 'i', 'm', 'a', 'l', '.') && second == T8('D', 'e', 'c', 'i', 'm', 'a', 'l', 0))
        return begin_decimal(r, object, wait);
    u64 own_name = 0, phase = OWN_NAME, items = 0, at = object;
    if (!is_heap) {
        const u64 of_function = r->p->version < 10 ? 104 : 40;
        if (is_name(first, T8('m', 'e', 't', 'h', 'o', 'd', 0, 0), 7)) {
            if (GET(1, object + METHOD_FUNCTION))
                return fail(r, PYTHON_VALUE_FAULT);
            at = w->word[0];
            if (GET(2, at) || get_name(r, w->word[1], wait))
                return fail(r, PYTHON_VALUE_FAULT);
        }
        if (w->word[0] == T8('f', 'u', 'n', 'c', 't', 'i', 'o', 'n') && !(u8)w->word[1])
            own_name = at + of_function;
        if (first == T8('b', 'u', 'i', 'l', 't', 'i', 'n', '_') &&
            second == T8('f', 'u', 'n', 'c', 't', 'i', 'o', 'n')) {
            if (GET(1, object + C_FUNCTION_ENTRY))
                return fail(r, PYTHON_VALUE_FAULT);
            own_name = w->word[0];
            phase = OWN_C_NAME;
        }
        if (is_name(first, T8('m', 'o', 'd', 'u', 'l', 'e', 0, 0), 7))
            own_name = object + MODULE_NAME;
        if (is_name(first, T8('s', 'l', 'i', 'c', 'e', 0, 0, 0), 6))
            items = 3;
        if (is_name(first, T8('r', 'a', 'n', 'g', 'e', 0, 0, 0), 6)) {
            /* A step of 1 is left out. */
            if (GET(1, object + FIRST_PART + 16))
                return fail(r, PYTHON_VALUE_FAULT);
            u64 step = w->word[0];
            w->word[1] = 0;
            if (get(w->word, 8, step + SONDE_PYTHON_SIZE, wait) ||
                get(&w->word[1], 4, step + SONDE_PYTHON_DIGITS, wait))
                return fail(r, PYTHON_VALUE_FAULT);
            items = w->word[0] == (r->p->long_tag ? 8 : 1) && w->word[1] == 1 ? 2 : 3;
        }
        if (first == T8('b', 'y', 't', 'e', 'a', 'r', 'r', 'a') && (second & 0xffff) == 'y') {
            if (GET(1, object + SONDE_PYTHON_SIZE) || get(&w->word[1], 8, object + BYTEARRAY_START, wait))
                return fail(r, PYTHON_VALUE_FAULT);
            u64 count = w->word[0], start = w->word[1];
            if (put(r, T8('b', 'y', 't', 'e', 'a', 'r', 'r', 'a')) || put(r, T4('y', '(', 'b', 0)))
                return 1;
            push(w, ITEMS, LIST, ')');
            begin_chars(w, start, count, 1, BYTES);
            return 0;
        }
    }
    /* A zone's difference from UTC, which is a timedelta. */
    if (first == T8('d', 'a', 't', 'e', 't', 'i', 'm', 'e') && second == T8('.', 't', 'i', 'm', 'e', 'z', 'o', 'n'))
        items = 1;
    if (items) {
        push_fields(r, ITEMS, object + FIRST_PART, items);
        begin_chars(w, name, ~0ull >> 1, 1, C_NAME);
        return 0;
    }
    if (own_name) {
        if (GET(1, own_name))
            return fail(r, PYTHON_VALUE_FAULT);
        own_name = w->word[0];
    }
    if (put(r, '<'))
        return 1;
    struct sonde_python_level* l = push(w, ITEMS, NAMED, '>');
    if (own_name) {
        l->phase = phase;
        l->pending = own_name;
    } else if (first == T8('t', 'y', 'p', 'e', 's', '.', 'S', 'i') &&
               second == T8('m', 'p', 'l', 'e', 'N', 'a', 'm', 'e')) {
        if (GET(1, object + NAMESPACE_DICT) || begin_dict(r, l, w->word[0], wait))
            return fail_level(r, PYTHON_VALUE_FAULT);
    } else if (is_heap && is_open(w)) {
        if (GET(1, type + TYPE_MEMBERS))
            return fail_level(r, PYTHON_VALUE_FAULT);
        l->kind = MEMBERS;
        l->values = type;
        l->at = w->word[0];
    } else if (is_heap) {
        l->end = T8(' ', '.', '.', '.', '>', 0, 0, 0);
    }
    begin_chars(w, name, ~0ull >> 1, 1, C_NAME);
    return 0;
}

/* Begins the search for an attribute. */
INLINE long begin_search(struct run* r, u64 object, u64 type, u64 flags, int wait) {
    struct sonde_python_work* w = r->w;
    w->wanted = copy_bounded(w->chunk, PYTHON_VALUE_NAME, w->names[masked(w->step, PYTHON_VALUE_STEPS - 1)]);
    if ((flags & IS_EXCEPTION) && w->wanted == 4 && *(u32*)w->chunk == T4('a', 'r', 'g', 's')) {
        if (GET(1, object + EXCEPTION_ARGUMENTS))
            return fail(r, PYTHON_VALUE_FAULT);
        return found(r, w->word[0]);
    }
    if (GET(1, type + TYPE_MEMBERS))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 slots = w->word[0], is_class = !!(flags & IS_TYPE);
    struct sonde_python_level* l = push(w, MEMBERS, NAMED, 0);
    w->searching = 1;
    w->of_class = is_class ? object : type;
    w->classes = 0;
    l->kind = is_class ? ITEMS : MEMBERS;
    l->values = type;
    l->at = slots;
    return 0;
}
/* Goes on with the attributes of the next class, in the order in which Python looks them up. */
INLINE long next_class(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    struct sonde_python_level* l = top(w);
    u64 items = r->p->tuple_items ? r->p->tuple_items : SONDE_PYTHON_ITEMS;
    w->state = NEXT;
    if (GET(1, w->of_class + TYPE_BASES) || get(&w->word[1], 8, w->word[0] + SONDE_PYTHON_SIZE, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    if (w->classes >= w->word[1])
        return fail(r, PYTHON_VALUE_NO_ATTRIBUTE);
    if (GET(1, w->word[0] + items + 8 * w->classes) || GET(1, w->word[0] + TYPE_ATTRIBUTES))
        return fail(r, PYTHON_VALUE_FAULT);
    w->classes++;
    u64 dict = w->word[0]; /* since 3.12, classes that are written in C can have it elsewhere */
    return dict && begin_dict(r, l, dict, wait) ? fail(r, PYTHON_VALUE_FAULT) : 0;
}
/* An attribute of a class. If it is a descriptor, such as a property or a method, only code of the program knows the
 * value. An exception is a field of a named tuple, which has the number of the item. */
INLINE long found_in_class(struct run* r, u64 object, u64 attribute, int wait) {
    struct sonde_python_work* w = r->w;
    if (GET(2, attribute))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 type = w->word[1];
    if (GET(1, type + TYPE_GET))
        return fail(r, PYTHON_VALUE_FAULT);
    if (!w->word[0])
        return found(r, attribute);
    u64 items = r->p->tuple_items ? r->p->tuple_items : SONDE_PYTHON_ITEMS;
    if (get_name(r, type, wait) || get(&w->word[2], 8, attribute + NAMED_ITEM_INDEX, wait) ||
        get(&w->word[3], 8, object + SONDE_PYTHON_SIZE, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    /* collections._tuplegetter, before 3.12 _collections._tuplegetter */
    const u64 is_field = (is_name(w->word[0], T8('_', 'c', 'o', 'l', 'l', 'e', 'c', 't'), 8) &&
                          is_name(w->word[1], T8('i', 'o', 'n', 's', '.', '_', 't', 'u'), 8)) ||
                         (is_name(w->word[0], T8('c', 'o', 'l', 'l', 'e', 'c', 't', 'i'), 8) &&
                          is_name(w->word[1], T8('o', 'n', 's', '.', '_', 't', 'u', 'p'), 8));
    if (!is_field || w->word[2] >= w->word[3])
        return fail(r, PYTHON_VALUE_COMPUTED);
    if (GET(1, object + items + 8 * w->word[2]))
        return fail(r, PYTHON_VALUE_FAULT);
    return found(r, w->word[0]);
}

INLINE long length_of(struct run* r, u64 object, u64 type, u64 flags, int wait) {
    struct sonde_python_work* w = r->w;
    u64 at = SONDE_PYTHON_SIZE;
    if (!(flags & (IS_LIST | IS_TUPLE | IS_BYTES | IS_TEXT | IS_DICT))) {
        if (get_name(r, type, wait))
            return fail(r, PYTHON_VALUE_FAULT);
        const u64 frozen =
            is_name(w->word[0], T8('f', 'r', 'o', 'z', 'e', 'n', 's', 'e'), 8) && (w->word[1] & 0xffff) == 't';
        if (!IS_BUILT_IN(T4('s', 'e', 't', 0), 3) && ((flags & IS_HEAP_TYPE) || !frozen))
            return fail(r, PYTHON_VALUE_NO_LENGTH);
        at = SONDE_PYTHON_SET_USED;
    }
    if (GET(1, object + at))
        return fail(r, PYTHON_VALUE_FAULT);
    return finish_number(r, w->word[0]);
}

/* Prints an exception: its class, and `count` arguments at an address. */
INLINE long print_exception(struct run* r, u64 type, u64 arguments, u64 count, int wait) {
    struct sonde_python_work* w = r->w;
    if (GET(1, type + r->p->type_name))
        return fail(r, PYTHON_VALUE_FAULT);
    struct sonde_python_level* l = push(w, ITEMS, LIST, count && !is_open(w) ? T4('.', '.', '.', ')') : ')');
    l->phase = OPENING;
    l->at = arguments;
    l->count = is_open(w) ? count : 0;
    begin_chars(w, w->word[0], ~0ull >> 1, 1, C_NAME);
    return 0;
}

INLINE long value(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    const struct sonde_python* p = r->p;
    u64 object = w->object & ~3ull; /* 3.14 has tags in the lowest bits of variables */
    w->object = object;
    if (GET(2, object))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 type = w->word[1];
    if (GET(1, type + p->type_flags))
        return fail(r, PYTHON_VALUE_NO_OBJECT);
    u64 flags = w->word[0];
    if (GET(1, type + SONDE_PYTHON_TYPE) || GET(1, w->word[0] + p->type_flags) || !(w->word[0] & IS_TYPE))
        return fail(r, PYTHON_VALUE_NO_OBJECT);
    w->type = type;
    w->flags = flags;
    u64 step = w->used ? SONDE_PYTHON_END : w->steps[masked(w->step, PYTHON_VALUE_STEPS - 1)];
    u64 items = p->tuple_items ? p->tuple_items : SONDE_PYTHON_ITEMS;
    if (step == SONDE_PYTHON_ATTRIBUTE)
        return begin_search(r, object, type, flags, wait);
    if (step == SONDE_PYTHON_LENGTH_OF)
        return length_of(r, object, type, flags, wait);
    if (step == SONDE_PYTHON_CLASS_OF) {
        if (w->to_number)
            return fail(r, PYTHON_VALUE_NO_NUMBER);
        if (GET(1, type + p->type_name))
            return fail(r, PYTHON_VALUE_FAULT);
        begin_chars(w, w->word[0], ~0ull >> 1, 1, C_NAME);
        return 0;
    }
    if (step == SONDE_PYTHON_ITEM && !(flags & (IS_LIST | IS_TUPLE)))
        return fail(r, PYTHON_VALUE_NO_ITEMS);
    if (flags & IS_INT) {
        if (get_name(r, type, wait))
            return fail(r, PYTHON_VALUE_FAULT);
        if (w->to_number || !IS_BUILT_IN(T4('b', 'o', 'o', 'l'), 4)) {
            w->state = INT;
            return 0;
        }
        w->word[0] = 0;
        if (get(w->word, 4, object + SONDE_PYTHON_DIGITS, wait))
            return fail(r, PYTHON_VALUE_FAULT);
        w->state = NEXT;
        return put(r, w->word[0] & 1 ? T4('T', 'r', 'u', 'e') : T8('F', 'a', 'l', 's', 'e', 0, 0, 0));
    }
    if (w->to_number && step != SONDE_PYTHON_ITEM && (flags & (IS_TEXT | IS_LIST | IS_TUPLE | IS_BYTES | IS_DICT)))
        return fail(r, flags & IS_TEXT ? PYTHON_VALUE_IS_TEXT : PYTHON_VALUE_NO_NUMBER);
    if (flags & IS_TEXT)
        return begin_text(r, object, w->used == 0 ? RAW : QUOTED, wait);
    if (flags & (IS_LIST | IS_TUPLE)) {
        u64 is_list = !!(flags & IS_LIST);
        if (GET(2, object + SONDE_PYTHON_SIZE))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 count = w->word[0], at = is_list ? w->word[1] : object + items;
        if (step == SONDE_PYTHON_ITEM) {
            u64 index = *(u64*)w->names[masked(w->step, PYTHON_VALUE_STEPS - 1)];
            if (index >= count)
                return fail(r, PYTHON_VALUE_NO_ITEM);
            if (GET(1, at + 8 * index))
                return fail(r, PYTHON_VALUE_FAULT);
            return found(r, w->word[0]);
        }
        if (put(r, is_list ? '[' : '('))
            return 1;
        struct sonde_python_level* l = push_container(r, ITEMS, LIST,
                                                      is_list                    ? ']'
                                                      : count == 1 && is_open(w) ? T2(',', ')')
                                                                                 : ')',
                                                      count);
        l->at = at;
        return 0;
    }
    if (flags & IS_DICT) {
        if (GET(1, object + SONDE_PYTHON_DICT_USED))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 count = w->word[0];
        if (put(r, '{'))
            return 1;
        struct sonde_python_level* l = push_container(r, ITEMS, PAIRS_OF_VALUES, '}', count);
        if (l->count && begin_dict(r, l, object, wait))
            return fail_level(r, PYTHON_VALUE_FAULT);
        return 0;
    }
    if (flags & IS_BYTES) {
        if (GET(1, object + SONDE_PYTHON_SIZE))
            return fail(r, PYTHON_VALUE_FAULT);
        begin_chars(w, object + SONDE_PYTHON_BYTES, w->word[0], 1, BYTES);
        return put(r, 'b');
    }
    if (flags & IS_TYPE) {
        if (w->to_number)
            return fail(r, PYTHON_VALUE_NO_NUMBER);
        if (GET(1, object + p->type_name))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 name = w->word[0];
        if (put(r, T8('<', 'c', 'l', 'a', 's', 's', ' ', '\'')))
            return 1;
        push(w, ITEMS, LIST, T2('\'', '>'));
        begin_chars(w, name, ~0ull >> 1, 1, C_NAME);
        return 0;
    }
    if ((flags & IS_EXCEPTION) && !w->to_number) {
        if (GET(1, object + EXCEPTION_ARGUMENTS))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 tuple = w->word[0];
        if (GET(1, tuple + SONDE_PYTHON_SIZE))
            return fail(r, PYTHON_VALUE_FAULT);
        return print_exception(r, type, tuple + items, w->word[0], wait);
    }
    w->state = OTHER;
    return 0;
}

/* Finds the exception at the address w->object. Up to 3.11, this is its value, and the word before is its class. If
 * the value is not an object of the class, it has the arguments with which Python will call the class: no argument
 * (null or None), a tuple of arguments, or one argument. Then the result is printed as if the object existed:
 *
 *     KeyError, ('key',)                       KeyError('key')
 *     ZeroDivisionError, 'division by zero'    ZeroDivisionError('division by zero') */
INLINE long exception(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    const struct sonde_python* p = r->p;
    u64 items = p->tuple_items ? p->tuple_items : SONDE_PYTHON_ITEMS;
    u64 at = w->object, is_tuple = 0, count = 0;
    if (p->version >= 12) {
        if (GET(1, at))
            return fail(r, PYTHON_VALUE_FAULT);
        return w->word[0] ? found(r, w->word[0]) : fail(r, PYTHON_VALUE_NO_EXCEPTION);
    }
    if (GET(2, at - 8))
        return fail(r, PYTHON_VALUE_FAULT);
    u64 type = w->word[0], value = w->word[1];
    if (!type)
        return fail(r, PYTHON_VALUE_NO_EXCEPTION);
    if (value) {
        if (GET(2, value))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 class = w->word[1];
        if (GET(1, class + p->type_flags))
            return fail(r, PYTHON_VALUE_FAULT);
        u64 flags = w->word[0];
        if (flags & IS_EXCEPTION) {
            if (class == type)
                return found(r, value);
            if (GET(1, class + TYPE_BASES) || get(&w->word[1], 8, w->word[0] + SONDE_PYTHON_SIZE, wait))
                return fail(r, PYTHON_VALUE_FAULT);
            if (w->stage < w->word[1]) {
                if (GET(1, w->word[0] + items + 8 * w->stage))
                    return fail(r, PYTHON_VALUE_FAULT);
                w->stage++;
                return w->word[0] == type ? found(r, value) : 0;
            }
        }
        is_tuple = !!(flags & IS_TUPLE);
        if (get_name(r, class, wait))
            return fail(r, PYTHON_VALUE_FAULT);
        if (is_name(w->word[0], T8('N', 'o', 'n', 'e', 'T', 'y', 'p', 'e'), 8) && !(u8)w->word[1])
            value = 0;
    }
    u64 arguments = is_tuple ? value + items : at;
    w->word[0] = !!value;
    if (is_tuple && GET(1, value + SONDE_PYTHON_SIZE))
        return fail(r, PYTHON_VALUE_FAULT);
    count = w->word[0];
    u64 step = w->steps[1];
    if (step == SONDE_PYTHON_CLASS_OF) {
        if (w->to_number)
            return fail(r, PYTHON_VALUE_NO_NUMBER);
        if (GET(1, type + p->type_name))
            return fail(r, PYTHON_VALUE_FAULT);
        begin_chars(w, w->word[0], ~0ull >> 1, 1, C_NAME);
        return 0;
    }
    if (step == SONDE_PYTHON_LENGTH_OF)
        return fail(r, PYTHON_VALUE_NO_LENGTH);
    if (step == SONDE_PYTHON_ITEM)
        return fail(r, PYTHON_VALUE_NO_ITEMS);
    if (step != SONDE_PYTHON_ATTRIBUTE)
        return w->to_number ? fail(r, PYTHON_VALUE_NO_NUMBER) : print_exception(r, type, arguments, count, wait);
    if (*(u64*)w->names[1] != T4('a', 'r', 'g', 's'))
        return fail(r, PYTHON_VALUE_NO_INSTANCE);
    if (is_tuple) {
        w->step = 1;
        return found(r, value);
    }
    u64 next = w->steps[2];
    if (next == SONDE_PYTHON_LENGTH_OF)
        return finish_number(r, count);
    if (next == SONDE_PYTHON_ITEM) {
        w->step = 2;
        return *(u64*)w->names[2] < count ? found(r, value) : fail(r, PYTHON_VALUE_NO_ITEM);
    }
    if (next == SONDE_PYTHON_ATTRIBUTE)
        return fail(r, PYTHON_VALUE_NO_ATTRIBUTE);
    if (w->to_number)
        return fail(r, PYTHON_VALUE_NO_NUMBER);
    if (next == SONDE_PYTHON_CLASS_OF) {
        w->state = NEXT;
        return put(r, T8('t', 'u', 'p', 'l', 'e', 0, 0, 0));
    }
    if (put(r, '('))
        return 1;
    push_container(r, ITEMS, LIST, count ? T2(',', ')') : ')', count)->at = arguments;
    return 0;
}

/* Reads the character at w->chars. Returns 1 after a fault. */
INLINE long character(struct sonde_python_work* w, u64* c, int wait) {
    u64 at = w->chars, unit = w->unit;
    if (at < w->chunk_begin || at >= w->chunk_end) {
        /* Up to the next multiple of 64, so the read does not go beyond the page. */
        u64 most = PYTHON_VALUE_NAME - (at & (PYTHON_VALUE_NAME - 1)), left = w->left * unit;
        u64 n = left < most ? left : most;
        if (get(w->chunk, (u32)masked(n - 1, PYTHON_VALUE_NAME - 1) + 1, at, wait))
            return 1;
        w->chunk_begin = at;
        w->chunk_end = at + n;
    }
    const u8* from = w->chunk + masked(at - w->chunk_begin, PYTHON_VALUE_NAME - 1);
    u64 character = from[0];
    if (unit > 1)
        character |= (u64)from[1] << 8;
    if (unit > 2)
        character |= (u64)from[2] << 16 | (u64)from[3] << 24;
    *c = character;
    w->chars = at + unit;
    w->left--;
    return 0;
}
/* Looks for quotes in a text, because Python prints "it's" with double quotes. */
INLINE long scan(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    u64 c = 0;
    if (w->left && w->all - w->left < sonde_rt_max) {
        if (character(w, &c, wait))
            return fail(r, PYTHON_VALUE_FAULT);
        w->quote |= c == '\'' ? 1 : c == '"' ? 2 : 0;
        return 0;
    }
    w->quote = w->quote == 1 ? '"' : '\'';
    w->chars = w->first;
    w->left = w->all;
    w->state = CHARS;
    return put(r, w->quote);
}
INLINE u64 hexadecimal(u64 digit) {
    digit &= 15;
    return '0' + digit + (below(9, digit) * ('a' - '0' - 10));
}
/* Characters above U+00FF that Python does not print in literals: the blanks, marks and private ones that occur most.
 */
INLINE int is_unprintable(u64 c) {
    return (c >= 0x2000 && c <= 0x200f) || (c >= 0x2028 && c <= 0x202f) || (c >= 0x205f && c <= 0x206f) ||
           c == 0x3000 || c == 0xfeff || (c >= 0xe000 && c <= 0xf8ff);
}
INLINE long chars(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    u64 c = 0, mode = w->mode, quote = w->quote;
    if (w->left == 0) {
        w->state = NEXT;
        return quote ? put(r, quote) : 0;
    }
    if (character(w, &c, wait))
        return fail(r, PYTHON_VALUE_FAULT);
    if (mode == C_NAME && c == 0) {
        w->state = NEXT;
        return 0;
    }
    if (c > 0x10ffff)
        return put(r, '?');
    if (quote) {
        u64 letter = c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c == '\\' || c == quote ? c : 0;
        if (letter)
            return put(r, '\\' | letter << 8);
    }
    u64 escaped = c == 0 || (quote && (c < 0x20 || c == 0x7f || (c >= 0x80 && c <= 0xa0) || c == 0xad)) ||
                  (mode == BYTES && c >= 0x80);
    if (escaped)
        return put(r, T2('\\', 'x') | hexadecimal(c >> 4) << 16 | hexadecimal(c) << 24);
    if ((c >= 0xd800 && c <= 0xdfff) || (quote && is_unprintable(c)))
        return put(r, T2('\\', 'u') | hexadecimal(c >> 12) << 16 | hexadecimal(c >> 8) << 24 |
                          hexadecimal(c >> 4) << 32 | hexadecimal(c) << 40);
    if (c < 0x80)
        return put(r, c);
    if (c < 0x800)
        return put(r, (0xc0 | c >> 6) | (0x80 | (c & 63)) << 8);
    if (c < 0x10000)
        return put(r, (0xe0 | c >> 12) | (0x80 | (c >> 6 & 63)) << 8 | (0x80 | (c & 63)) << 16);
    return put(r, (0xf0 | c >> 18) | (0x80 | (c >> 12 & 63)) << 8 | (0x80 | (c >> 6 & 63)) << 16 |
                      (0x80 | (c & 63)) << 24);
}

/* Puts what is between two elements. Returns 1 if the text is full; 2 if enough elements are printed. */
INLINE long between(struct run* r, struct sonde_python_level* l) {
    u64 shown = l->shown, named = l->style == NAMED, separator = named ? ' ' : T2(',', ' ');
    l->shown = shown + 1;
    if (shown == PYTHON_VALUE_ELEMENTS && l->kind != VARIABLES) {
        l->kind = ITEMS;
        l->index = l->count = 0;
        l->end = l->end == T2(',', ')') ? ')' : l->end;
        return put(r, named ? T4(' ', '.', '.', '.') : T8(',', ' ', '.', '.', '.', 0, 0, 0)) ? 1 : 2;
    }
    return (shown || (named && l->kind != VARIABLES)) && put(r, separator);
}
/* Prints a part with a name, which is a text of Python. */
INLINE long named_part(struct run* r, struct sonde_python_level* l, u64 name, u64 object, int wait) {
    long enough = between(r, l);
    if (enough)
        return enough & 1;
    l->pending = object;
    l->phase = PAIR;
    return begin_text(r, name, RAW, wait);
}

INLINE long next_entry(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    struct sonde_python_level* l = top(w);
    w->state = NEXT;
    u64 at = l->index;
    if (l->order) {
        w->word[0] = 0;
        if (get(w->word, 1, r->p->version >= 13 ? l->order + at : l->order - at, wait))
            return fail_level(r, PYTHON_VALUE_FAULT);
        at = w->word[0];
    }
    l->index++;
    if (GET(2, l->at + at * l->stride))
        return fail_level(r, PYTHON_VALUE_FAULT);
    u64 key = w->word[0], object = w->word[1];
    if (l->values) {
        if (GET(1, l->values + 8 * at))
            return fail_level(r, PYTHON_VALUE_FAULT);
        object = w->word[0];
    }
    if (!key || !object)
        return 0;
    if (w->searching) {
        long equal = is_wanted_text(r, key, wait);
        return equal < 0    ? fail(r, PYTHON_VALUE_FAULT)
               : !equal     ? 0
               : w->classes ? found_in_class(r, l->object, object, wait)
                            : found(r, object);
    }
    if (l->style == NAMED)
        return named_part(r, l, key, object, wait);
    long enough = between(r, l);
    if (enough)
        return enough & 1;
    l->pending = object;
    l->phase = PAIR;
    w->object = key;
    w->depth = l->depth;
    w->state = VALUE;
    return 0;
}
INLINE long next_of_set(struct run* r, struct sonde_python_level* l, int wait) {
    struct sonde_python_work* w = r->w;
    if (GET(2, l->at + 16 * l->index++))
        return fail_level(r, PYTHON_VALUE_FAULT);
    u64 key = w->word[0];
    if (!key || w->word[1] == ~0ull) /* free, or deleted */
        return 0;
    long enough = between(r, l);
    if (enough)
        return enough & 1;
    w->object = key;
    w->depth = l->depth;
    w->state = VALUE;
    return 0;
}
/* A slot. The slots of a class are in an array that ends with zeros; those of its base follow. */
INLINE long next_member(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    struct sonde_python_level* l = top(w);
    w->state = NEXT;
    w->word[0] = 0;
    if (l->at && GET(3, l->at + MEMBER_BYTES * l->index))
        return fail_level(r, PYTHON_VALUE_FAULT);
    u64 name = w->word[0], kind = (u32)w->word[1], offset = w->word[2];
    if (!name) {
        if (GET(1, l->values + TYPE_BASE))
            return fail_level(r, PYTHON_VALUE_FAULT);
        u64 base = w->word[0];
        if (!base) {
            w->state = ATTRIBUTES;
            return 0;
        }
        if (GET(1, base + r->p->type_flags))
            return fail_level(r, PYTHON_VALUE_FAULT);
        if (!w->searching && !(w->word[0] & IS_HEAP_TYPE)) { /* a class that is written in C */
            w->state = ATTRIBUTES;
            return 0;
        }
        if (GET(1, base + TYPE_MEMBERS))
            return fail_level(r, PYTHON_VALUE_FAULT);
        l->values = base;
        l->at = w->word[0];
        l->index = 0;
        return 0;
    }
    l->index++;
    if (kind != MEMBER_OBJECT && kind != MEMBER_OBJECT_OR_ERROR)
        return 0;
    if (w->searching) {
        long equal = is_wanted(w, name, w->wanted + 1, wait);
        if (equal <= 0)
            return equal ? fail(r, PYTHON_VALUE_FAULT) : 0;
    }
    if (GET(1, l->object + offset))
        return fail_level(r, PYTHON_VALUE_FAULT);
    u64 object = w->word[0];
    if (w->searching)
        return object ? found(r, object) : fail(r, PYTHON_VALUE_UNSET);
    if (!object)
        return 0;
    long enough = between(r, l);
    if (enough)
        return enough & 1;
    l->pending = object;
    l->phase = PAIR;
    begin_chars(w, name, ~0ull >> 1, 1, C_NAME);
    return 0;
}
/* Goes on with the names of cells, and with those of free variables. Only up to 3.10. */
INLINE long next_stage(struct run* r, struct sonde_python_level* l, int wait) {
    struct sonde_python_work* w = r->w;
    u64 stage = w->stage + 1, passed = l->count;
    w->stage = stage;
    if (GET(1, w->code + (stage == 1 ? r->p->code_cells : r->p->code_free)) ||
        get(&w->word[1], 8, w->word[0] + SONDE_PYTHON_SIZE, wait))
        return fail_level(r, PYTHON_VALUE_FAULT);
    l->values += 8 * passed;
    l->at = w->word[0] + SONDE_PYTHON_ITEMS;
    l->index = 0;
    l->count = w->word[1];
    return 0;
}
INLINE long next_variable(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    struct sonde_python_level* l = top(w);
    w->state = NEXT;
    u64 at = l->index, object = 0, in_cell = w->stage > 0;
    if (l->phase == CELL) {
        if (w->cell < w->cell_count) {
            if (GET(1, w->cells + 8 * w->cell))
                return fail_level(r, PYTHON_VALUE_FAULT);
            if (w->word[0] != at) {
                w->cell++;
                return 0;
            }
            if (GET(1, w->locals + 8 * (w->plain + w->cell)))
                return fail_level(r, PYTHON_VALUE_FAULT);
            object = w->word[0];
            in_cell = 1;
        }
        l->phase = ELEMENT;
    } else {
        if (GET(1, l->at + 8 * at))
            return fail_level(r, PYTHON_VALUE_FAULT);
        if (w->searching) {
            long equal = is_wanted_text(r, w->word[0], wait);
            if (equal <= 0) {
                l->index = at + 1;
                return equal ? fail(r, PYTHON_VALUE_FAULT) : 0;
            }
        }
        if (GET(1, l->values + 8 * at))
            return fail_level(r, PYTHON_VALUE_FAULT);
        object = w->word[0] & ~3ull;
        if (!object && w->cells && w->stage == 0 && at < w->parameters) {
            l->phase = CELL;
            w->cell = 0;
            return 0;
        }
        /* A parameter in a cell is in both lists. */
        if (w->stage == 1 && w->cells && !w->searching) {
            if (GET(1, w->cells + 8 * at))
                return fail_level(r, PYTHON_VALUE_FAULT);
            if ((s64)w->word[0] >= 0)
                object = 0;
        }
        if (l->order && object) {
            w->word[0] = 0;
            if (get(w->word, 1, l->order + at, wait))
                return fail_level(r, PYTHON_VALUE_FAULT);
            in_cell = !!(w->word[0] & CELL_OR_FREE);
        }
    }
    l->index = at + 1;
    if (object && in_cell) { /* since 3.11 the function itself puts its parameters into cells, after its beginning */
        if (GET(2, object) || get_name(r, w->word[1], wait))
            return fail_level(r, PYTHON_VALUE_FAULT);
        if (is_name(w->word[0], T4('c', 'e', 'l', 'l'), 5)) {
            if (GET(1, object + SONDE_PYTHON_CELL))
                return fail_level(r, PYTHON_VALUE_FAULT);
            object = w->word[0];
        }
    }
    if (w->searching)
        return object ? found(r, object) : fail(r, PYTHON_VALUE_UNSET);
    if (!object)
        return 0;
    if (GET(1, l->at + 8 * at))
        return fail_level(r, PYTHON_VALUE_FAULT);
    return named_part(r, l, w->word[0], object, wait);
}

/* A number of a date, of a time (begin_date()) or of a timedelta. Python leaves out a timedelta's zeros, if not all
 * are. */
INLINE long next_field(struct run* r, struct sonde_python_level* l) {
    struct sonde_python_work* w = r->w;
    u64 index = l->index;
    l->index = index + 1;
    if (l->kind == DELTA) {
        s64 number = index == 0 ? (s64)(int)l->at : index == 1 ? (s64)l->values : (s64)l->order;
        u64 is_zero = !((u32)l->at | l->values | l->order);
        if (is_zero) {
            l->count = 0;
            return put(r, '0');
        }
        if (number == 0)
            return 0;
        if (l->shown && put(r, T2(',', ' ')))
            return 1;
        l->shown = 1;
        w->number = (u64)number;
        w->state = NUMBER;
        return index == 0 ? put(r, T8('d', 'a', 'y', 's', '=', 0, 0, 0))
               : index == 1
                   ? put(r, T8('s', 'e', 'c', 'o', 'n', 'd', 's', '='))
                   : put(r, T8('m', 'i', 'c', 'r', 'o', 's', 'e', 'c')) || put(r, T8('o', 'n', 'd', 's', '=', 0, 0, 0));
    }
    if (index && put(r, T2(',', ' ')))
        return 1;
    if (l->pending && index + 1 == l->count) {
        w->object = l->pending;
        w->depth = l->depth;
        w->state = VALUE;
        return put(r, T8('t', 'z', 'i', 'n', 'f', 'o', '=', 0));
    }
    const u64 has_year = l->stride == 6;
    w->number = index == l->stride       ? l->order
                : has_year && index == 0 ? l->at
                                         : l->values >> 8 * masked(index - has_year, 7) & 0xff;
    w->state = NUMBER;
    return 0;
}

INLINE long next(struct run* r, int wait) {
    struct sonde_python_work* w = r->w;
    if (w->used == 0)
        return 1;
    struct sonde_python_level* l = top(w);
    if (l->phase == PAIR) {
        l->phase = ELEMENT;
        w->object = l->pending;
        w->depth = l->depth;
        w->state = VALUE;
        return put(r, l->style == NAMED ? '=' : T2(':', ' '));
    }
    if (l->phase == OPENING) {
        l->phase = ELEMENT;
        return put(r, '(');
    }
    if (l->phase == OWN_NAME || l->phase == OWN_C_NAME) {
        u64 name = l->pending, is_c = l->phase == OWN_C_NAME;
        l->phase = ELEMENT;
        if (put(r, ' '))
            return 1;
        if (!is_c)
            return begin_text(r, name, RAW, wait);
        begin_chars(w, name, ~0ull >> 1, 1, C_NAME);
        return 0;
    }
    u64 kind = l->kind;
    if (kind == MEMBERS) {
        w->state = NEXT_MEMBER;
        return 0;
    }
    if (l->index < l->count) {
        if (kind == ENTRIES || kind == VARIABLES) {
            w->state = kind == ENTRIES ? NEXT_ENTRY : NEXT_VARIABLE;
            return 0;
        }
        if (kind == SET)
            return next_of_set(r, l, wait);
        if (kind == FIELDS || kind == DELTA)
            return next_field(r, l);
        long enough = between(r, l);
        if (enough)
            return enough & 1;
        u64 item = l->at + 8 * l->index;
        if (kind == BLOCKS) {
            enum { BLOCK_ITEMS_MOST = 64 };
            u64 place = l->order;
            if (place >= BLOCK_ITEMS_MOST) { /* of the next block */
                if (GET(1, l->at + BLOCK_RIGHT))
                    return fail_level(r, PYTHON_VALUE_FAULT);
                l->at = w->word[0];
                place = 0;
            }
            item = l->at + BLOCK_ITEMS + 8 * place;
            l->order = place + 1;
        }
        if (GET(1, item))
            return fail_level(r, PYTHON_VALUE_FAULT);
        l->index++;
        w->object = w->word[0];
        w->depth = l->depth;
        w->state = VALUE;
        return 0;
    }
    if (kind == VARIABLES && r->p->code_cells && w->stage < 2 && w->steps[0] != SONDE_PYTHON_PARAMETERS)
        return next_stage(r, l, wait);
    if (w->searching && kind == VARIABLES)
        return fail(r, PYTHON_VALUE_NO_VARIABLE);
    if (w->searching) {
        w->state = NEXT_CLASS;
        return 0;
    }
    w->used--;
    return l->end ? put(r, l->end) : 0;
}

/* Each state is a separate function for each way to read. Their calls then need little stack. */
#define STATE(name)                                                                                                    \
    static OUTLINE long name##_now(struct run* r) { return name(r, 0); }                                               \
    static OUTLINE long name##_wait(struct run* r) { return name(r, 1); }
STATE(begin_frame)
STATE(exception)
STATE(value)
STATE(value_of_int)
STATE(value_of_other)
STATE(value_of_class)
STATE(scan)
STATE(chars)
STATE(next)
STATE(next_entry)
STATE(next_member)
STATE(next_variable)
STATE(begin_attributes)
STATE(next_class)
#define RUN(name) (wait ? name##_wait(r) : name##_now(r))

/* Appends a number. Here and not in a function that the states call, because calls have little stack. */
INLINE long put_number(struct run* r) {
    struct sonde_python_work* w = r->w;
    u64 is_real = w->state == REAL;
    w->state = NEXT;
    if (w->length + (is_real ? 32 : 21) > w->limit) {
        w->cut = 1;
        return 1;
    }
    struct sonde_slot* slot = (struct sonde_slot*)r->slot;
    u64 len = masked(w->length, MASK);
    w->length =
        is_real ? sonde_rt_float_text(slot, len, &w->real) : sonde_rt_append_long(slot, len, (s64)w->number, 'd');
    return 0;
}
INLINE long step(struct run* r, int wait) {
    switch (r->w->state) {
    case FRAME:
        return RUN(begin_frame);
    case EXCEPTION:
        return RUN(exception);
    case VALUE:
        return RUN(value);
    case INT:
        return RUN(value_of_int);
    case OTHER:
        return RUN(value_of_other);
    case CLASS:
        return RUN(value_of_class);
    case SCAN:
        return RUN(scan);
    case CHARS:
        return RUN(chars);
    case NEXT:
        return RUN(next);
    case NEXT_ENTRY:
        return RUN(next_entry);
    case NEXT_MEMBER:
        return RUN(next_member);
    case NEXT_VARIABLE:
        return RUN(next_variable);
    case ATTRIBUTES:
        return RUN(begin_attributes);
    case NEXT_CLASS:
        return RUN(next_class);
    case NUMBER:
    case REAL:
        return put_number(r);
    case DECIMAL:
        return divide(r);
    case POINT:
        return put_digit(r);
    }
    return 1;
}
static long ended(struct run* r, long result) {
    r->w->ended = (u64)result;
    return result;
}
static long step_now(u64 i, struct run* r) {
    (void)i;
    return ended(r, step(r, 0) != 0);
}
static long step_wait(u64 i, struct run* r) {
    (void)i;
    return ended(r, step(r, 1) != 0);
}

/* Reads a value of Python, beginning with the frame or object at `address`. Its text is in the slot, its number in
 * w->number. Returns a python_value_status. */
ONCE u64 sonde_rt_python_value(struct sonde_slot* to, struct sonde_python_work* w, u64 address, u64 wait) {
    if (!to || !w)
        return PYTHON_VALUE_NO_LAYOUT;
    u32 index = (u32)w->layout;
    struct sonde_python* p = bpf_map_lookup_elem(&sonde_python, &index);
    if (!p || !p->version)
        return PYTHON_VALUE_NO_LAYOUT;
    w->status = PYTHON_VALUE_OK;
    u64 first = w->steps[0];
    w->state = first == SONDE_PYTHON_VARIABLE || first == SONDE_PYTHON_PARAMETERS || first == SONDE_PYTHON_LOCALS ||
                       first == SONDE_PYTHON_VARIABLES || first == SONDE_PYTHON_CONSTANT
                   ? FRAME
               : first == SONDE_PYTHON_EXCEPTION ? EXCEPTION
                                                 : VALUE;
    w->object = address;
    w->step = w->searching = w->stage = w->depth = w->length = w->cut = w->used = w->number = w->ended = 0;
    w->with_point = 0;
    w->limit = MASK - 3;
    struct run r = {to->text, w, p};
    if (wait)
        LOOP(STEPS, step_wait, &r);
    else
        LOOP(STEPS, step_now, &r);
    u8* end = to->text + masked(w->length, MASK);
    u8 dot = w->cut ? '.' : 0;
    end[0] = end[1] = end[2] = dot;
    end[3] = 0;
    return w->ended ? w->status : PYTHON_VALUE_TOO_LONG;
}
