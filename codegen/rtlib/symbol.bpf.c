/* Describes user addresses as text.
 *
 * The search (sonde_rt_find_symbol()) and the text (sonde_rt_symbol()) are separate functions, because the verifier
 * checks global functions one by one, and both together would be too complex. They share a struct symbol in the
 * handler's frame.
 *
 * An address can be a return address. If the call was the last instruction of its function, the return address belongs
 * to the next function already. With SONDE_BEHIND_CALL, the search uses the byte before the address, which is inside of
 * the call.
 *
 * Texts are in the file's table, and a row has the index of its text. The table is a map of 8-byte elements, and a text
 * begins at an element and continues in the following ones. A lookup returns a pointer to the first element, and the
 * string is read from there as kernel memory. */
#include "files.h"

u64 sonde_rt_append(u8* slot, u64 len, const u8* text);
u64 sonde_rt_append_long(struct sonde_slot* to, u64 len, s64 value, u64 spec);

enum { HEX = 'x' | '#' << 8 };

static u64 add_text(u8* slot, u64 len, void* table, u32 index)
{
    const u8* text = bpf_map_lookup_elem(table, &index);
    return text ? sonde_rt_append(slot, len, text) : len;
}
static u64 add_hex(u8* slot, u64 len, u64 value)
{
    return sonde_rt_append_long((struct sonde_slot*)slot, len, (s64)value, HEX);
}
static u64 add_char(u8* slot, u64 len, u8 c)
{
    slot[len & MASK] = c;
    slot[(len + 1) & MASK] = 0;
    slot[MASK] = 0;
    return cut(len + 1);
}

/* What is known about an address; texts are indices of elements in the file's table. It is in the handler's frame,
 * because these calls share a stack of 512 bytes. */
struct symbol {
    u64 address, style, behind; /* input */
    u64 inode;                  /* 0: unknown */
    u32 module, path, text;     /* text: of the function or source file; 0: unknown */
    u32 chain;                  /* the functions inlined there; 0: none */
    u64 offset, size, line;
    u64 place;                  /* for which `row` was found */
    struct sonde_found in;
    struct row row;
};
_Static_assert(sizeof(struct symbol) <= SONDE_SYMBOL_BYTES, "more than handlers provide");

static void begin_symbol(struct symbol* s, u64 address, u64 style)
{
    *s = (struct symbol){.address = address, .style = style & SONDE_SYMBOL_STYLE, .behind = style >= SONDE_BEHIND_CALL};
}
/* The file's table, or null. */
static void* table_of(u64 inode) { return bpf_map_lookup_elem(&sonde_files, &inode); }
/* Finds the row for the address minus `behind` in its file's table. Returns 1 if there is one. */
static inline int find_row(struct symbol* s, u64 kind, u64 behind)
{
    s->row.inode = s->in.at.inode;
    s->row.kind = kind;
    s->row.place = s->place = s->address - s->in.at.start + s->in.at.offset - behind;
    return sonde_rt_find_row(&s->row);
}
ONCE int sonde_rt_find_symbol(struct symbol* s)
{
    if (!s || !sonde_rt_find_mapping(s->address, &s->in) || !s->in.code)
        return 0;
    void* table = table_of(s->in.at.inode);
    if (!table)
        return 0;
    u64 place = s->address - s->in.at.start + s->in.at.offset;
    u64 sizes = element(table, 2);
    s->path = element(table, 1) >> 32;
    s->module = sizes >> 32;
    s->offset = (u32)(place + element(table, 3));
    s->size = (u32)sizes;
    s->inode = s->in.at.inode;
    u64 kind = s->style >= SONDE_SYMBOL_LINE ? LINE_ROWS : SYMBOL_ROWS;
    if (s->style == SONDE_SYMBOL_BUILD_ID)
        s->text = (u32)element(table, 4);
    if (s->style == SONDE_SYMBOL_MODULE || s->style >= SONDE_SYMBOL_PLACE)
        return 0;
    if (!find_row(s, kind, s->behind) ||
        (s->behind && s->place - (u32)s->row.first >= s->row.first >> 32)) {
        if (!find_row(s, kind, 0))
            return 0;
    }
    u64 begin = (u32)s->row.first, value = s->row.first >> 32;
    if (s->style >= SONDE_SYMBOL_LINE) {
        s->line = value;
        s->text = (u32)s->row.second;
    } else if (s->place - begin < value) {
        u64 whole = element(table, s->row.second >> 32);
        if (s->row.second >> 32) {
            begin = (u32)whole;
            value = whole >> 32;
        }
        s->offset = place - begin;
        s->size = value;
        s->text = (u32)s->row.second;
    }
    return 0;
}

ONCE int sonde_rt_find_inlined(struct symbol* s)
{
    if (!s || !sonde_rt_find_mapping(s->address, &s->in) || !s->in.code)
        return 0;
    void* table = table_of(s->in.at.inode);
    if (!table || !find_row(s, INLINED_ROWS, 0) || !(u32)s->row.second)
        return 0;
    s->inode = s->in.at.inode;
    s->path = element(table, 1) >> 32;
    s->chain = (u32)s->row.second;
    return 1;
}
struct chain {
    u8* slot;
    u64 len;
    void* table;
    u32 path, at;
};
static long add_inlined(u64 i, struct chain* c)
{
    (void)i;
    static const u8 mark[] = " (inlined) [", end[] = "]\n";
    u64 node = element(c->table, c->at), len = c->len;
    if (c->at == 0)
        return 1;
    len = sonde_rt_append(c->slot, add_text(c->slot, len, c->table, (u32)node), mark);
    c->len = sonde_rt_append(c->slot, add_text(c->slot, len, c->table, c->path), end);
    c->at = node >> 32;
    return 0;
}
/* Writes "name (inlined) [path]" and a newline for each function that is inlined at an address in the current task.
 * `s`, here and below: SONDE_SYMBOL_BYTES of memory for the search. */
ONCE s64 sonde_rt_inlined(struct sonde_slot* to, u64 address, struct symbol* s)
{
    NEED(to && s);
    u8* slot = to->text;
    begin_symbol(s, address, 0);
    slot[0] = 0;
    sonde_rt_find_inlined(s);
    void* table = s->inode ? table_of(s->inode) : 0;
    if (!table)
        return 0;
    struct chain c = {slot, opaque(slot, 0), table, s->path, s->chain};
    LOOP(SONDE_INLINED_MOST, add_inlined, &c);
    return 0;
}

/* Appends "name", "name+offset", "name-offset", or the latter two with "/size". */
static u64 add_name(u8* slot, u64 len, void* table, struct symbol* s, u64 style)
{
    len = add_text(slot, len, table, s->text);
    if (style == SONDE_SYMBOL_NAME)
        return len;
    const s64 offset = (s64)s->offset; /* from a part before its function it is negative */
    len = add_hex(slot, add_char(slot, len, offset < 0 ? '-' : '+'), offset < 0 ? -s->offset : s->offset);
    return style == SONDE_SYMBOL_DATA ? add_hex(slot, add_char(slot, len, '/'), s->size) : len;
}

/* Appends the mapped file's name from the kernel, for a file without a table: it was just found, or cannot be read. */
static u64 add_file_name(u8* slot, struct symbol* s)
{
    const u8* name = 0;
    struct dentry* dentry = (void*)s->in.dentry;
    if (!dentry)
        return 0;
    READ(name, dentry->d_name.name);
    return copy_bounded(slot, sonde_rt_max, name);
}
/* Describes a frame of an interpreter, which stands in a stack instead of an address
 * (runtime/plan/interpreted_stack.h). */
static inline u64 append_unnamed(u8* slot, u64 len, u32 number)
{
    enum { LANGUAGE_BYTES = 16 };
    static const u8 unreadable[] = "[unreadable ", unnamed[] = "[unnamed ", function[] = "function]", blank[] = " ";
    static const u8 languages[SONDE_LANGUAGES][LANGUAGE_BYTES] = {
#define LANGUAGE_RUNTIME(id, name, language) language,
#include "../../runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
    };
    u64 language = number / SONDE_INTERPRETED_KINDS;
    u64 is_unreadable = number % SONDE_INTERPRETED_KINDS == SONDE_INTERPRETED_UNREADABLE;
    len = sonde_rt_append(slot, len, is_unreadable ? unreadable : unnamed);
    if (language < SONDE_LANGUAGES) {
        len = sonde_rt_append(slot, len, languages[language]);
        len = sonde_rt_append(slot, len, blank);
    }
    return sonde_rt_append(slot, len, function);
}
extern u8 sonde_frame_names; /* a map, defined by the script's module */
RT s64 sonde_rt_interpreted_symbol(u8* slot, u64 frame, u64 style)
{
    u32 number = sonde_interpreted_name_of(frame), line = sonde_interpreted_line_of(frame);
    const struct sonde_interpreted_name* name = bpf_map_lookup_elem(&sonde_frame_names, &number);
    u64 len = opaque(slot, 0), with_folder = 0;
    slot[0] = 0;
    style &= SONDE_SYMBOL_STYLE;
    if (style >= SONDE_SYMBOL_PLACE)
        return 0;
    if (!name) {
        if (style <= SONDE_SYMBOL_BRIEF)
            append_unnamed(slot, len, number);
        else if (style >= SONDE_SYMBOL_LINE && style <= SONDE_SYMBOL_FILELINE)
            add_hex(slot, len, frame);
        return 0;
    }
    if (style <= SONDE_SYMBOL_BRIEF) {
        len = sonde_rt_append(slot, len, (const u8*)name->function);
        if (style == SONDE_SYMBOL_NAME)
            return 0;
        len = add_char(slot, len, ' ');
        with_folder = style != SONDE_SYMBOL_BRIEF;
        if (with_folder)
            len = add_char(slot, len, '[');
    }
    if (style != SONDE_SYMBOL_LINE) {
        u64 begin = style == SONDE_SYMBOL_BRIEF || style == SONDE_SYMBOL_MODULE ? name->base : 0;
        len = sonde_rt_append(slot, len, (const u8*)name->file + masked(begin, SONDE_INTERPRETED_FILE_BYTES - 1));
    }
    if (line && style != SONDE_SYMBOL_MODULE && style != SONDE_SYMBOL_FILE && style != SONDE_SYMBOL_PATH) {
        if (style != SONDE_SYMBOL_LINE)
            len = add_char(slot, len, ':');
        len = sonde_rt_append_long((struct sonde_slot*)slot, len, line, 'd');
    } else if (style == SONDE_SYMBOL_LINE) {
        add_hex(slot, len, frame);
    }
    if (with_folder)
        add_char(slot, len, ']');
    return 0;
}

/* Describes an address in the current task, in a SONDE_SYMBOL style. An unknown address is printed in hexadecimal. */
ONCE s64 sonde_rt_symbol(struct sonde_slot* to, u64 address, u64 style, struct symbol* s)
{
    NEED(to && s);
    u8* slot = to->text;
    if (sonde_is_interpreted_frame(address))
        return sonde_rt_interpreted_symbol(slot, address, style);
    begin_symbol(s, address, style);
    style &= SONDE_SYMBOL_STYLE;
    u64 len = opaque(slot, 0);
    slot[0] = 0;
    sonde_rt_find_symbol(s);
    u32 text = s->text;
    void* table = s->inode ? table_of(s->inode) : 0;
    if (style == SONDE_SYMBOL_MODULE || style == SONDE_SYMBOL_BUILD_ID) {
        if (table)
            add_text(slot, len, table, style == SONDE_SYMBOL_MODULE ? s->module : text);
        else if (style == SONDE_SYMBOL_MODULE)
            add_file_name(slot, s);
        return 0;
    }
    if (style == SONDE_SYMBOL_PLACE) {
        if (table)
            add_hex(slot, len, s->offset);
        return 0;
    }
    if (!table || (!text && style != SONDE_SYMBOL_DATA && style != SONDE_SYMBOL_OFFSET) ||
        (style >= SONDE_SYMBOL_LINE && !s->line)) {
        add_hex(slot, len, address);
        return 0;
    }
    if (style >= SONDE_SYMBOL_LINE) {
        if (style != SONDE_SYMBOL_LINE)
            len = add_text(slot, len, table, text);
        if (style == SONDE_SYMBOL_FILELINE)
            len = add_char(slot, len, ':');
        if (style != SONDE_SYMBOL_FILE)
            sonde_rt_append_long(to, len, (s64)s->line, 'd');
        return 0;
    }
    if (text) {
        len = add_name(slot, len, table, s, style);
        if (style == SONDE_SYMBOL_NAME)
            return 0;
    } else {
        len = add_hex(slot, len, address);
    }
    if (style == SONDE_SYMBOL_BRIEF)
        return 0;
    len = add_char(slot, add_char(slot, len, ' '), '[');
    len = add_text(slot, len, table, s->path);
    if (!text) {
        len = add_hex(slot, add_char(slot, len, '+'), s->offset);
        len = add_hex(slot, add_char(slot, len, '/'), s->size);
    }
    add_char(slot, len, ']');
    return 0;
}

static inline u64 kernel_base(void)
{
    void* table = SONDE_KERNEL_MOVES ? table_of(SONDE_KERNEL_FILE) : 0;
    return sonde_kernel_base(table ? (u32)element(table, 3) : 0);
}
/* The same for a kernel address. */
ONCE int sonde_rt_find_kernel_symbol(struct symbol* s)
{
    if (!s)
        return 0;
    s->row.inode = SONDE_KERNEL_FILE;
    s->row.kind = SYMBOL_ROWS;
    s->row.place = s->place = s->address - kernel_base() - s->behind;
    if (s->place >> 32 || !sonde_rt_find_row(&s->row) ||
        s->place - (u32)s->row.first >= s->row.first >> 32)
        return 0;
    s->offset = s->place + s->behind - (u32)s->row.first;
    s->size = s->row.first >> 32;
    s->text = (u32)s->row.second;
    s->module = s->row.second >> 32;
    return 1;
}
ONCE s64 sonde_rt_kernel_symbol(struct sonde_slot* to, u64 address, u64 style, struct symbol* s)
{
    NEED(to && s);
    u8* slot = to->text;
    if (sonde_is_interpreted_frame(address))
        return sonde_rt_interpreted_symbol(slot, address, style);
    u64 len = opaque(slot, 0);
    begin_symbol(s, address, style);
    style &= SONDE_SYMBOL_STYLE;
    slot[0] = 0;
    sonde_rt_find_kernel_symbol(s);
    void* table = table_of(SONDE_KERNEL_FILE);
    if (style == SONDE_SYMBOL_MODULE) {
        if (table && s->text)
            add_text(slot, len, table, s->module);
        return 0;
    }
    if (!table || !s->text || style >= SONDE_SYMBOL_LINE) {
        add_hex(slot, len, address);
        return 0;
    }
    len = add_name(slot, len, table, s, style);
    if (style == SONDE_SYMBOL_NAME || style == SONDE_SYMBOL_BRIEF)
        return 0;
    len = add_char(slot, add_char(slot, len, ' '), '[');
    add_char(slot, add_text(slot, len, table, s->module), ']');
    return 0;
}
