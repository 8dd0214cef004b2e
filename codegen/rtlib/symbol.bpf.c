/* What lies at a user address, as text. */
#include "files.h"

u64 sonde_rt_append(u8* slot, u64 len, const u8* text);
u64 sonde_rt_append_long(u8* slot, u64 len, s64 value, u64 spec);

enum { HEX = 'x' | '#' << 8 };

static u64 add_text(u8* slot, u64 len, void* table, u32 index)
{
    const u8* text = bpf_map_lookup_elem(table, &index);
    return text ? sonde_rt_append(slot, len, text) : len;
}
static u64 add_hex(u8* slot, u64 len, u64 value) { return sonde_rt_append_long(slot, len, (s64)value, HEX); }
static u64 add_char(u8* slot, u64 len, u8 c)
{
    slot[len & MASK] = c;
    slot[(len + 1) & MASK] = 0;
    slot[MASK] = 0;
    return cut(len + 1);
}

/* What is found of an address; the texts' elements are in `table`, the file's. */
struct symbol {
    u64 address, style, behind; /* wanted */
    u64 inode;                  /* 0: nothing is known */
    u32 module, path, text;     /* text: of the function or the source file; 0: not known */
    u64 offset, size, line;
};
ONCE int sonde_once_find_symbol(struct symbol* s)
{
    struct mapped in = {};
    if (!s || !sonde_once_find_mapping(s->address, &in) || !in.code)
        return 0;
    void* table = bpf_map_lookup_elem(&sonde_files, &in.at.inode);
    if (!table)
        return 0;
    u64 place = s->address - in.at.start + in.at.offset;
    u64 sizes = element(table, 2);
    s->path = element(table, 1) >> 32;
    s->module = sizes >> 32;
    s->offset = (u32)(place + element(table, 3));
    s->size = (u32)sizes;
    s->inode = in.at.inode;
    struct row row = {s->inode, s->style >= SONDE_SYMBOL_LINE ? LINE_ROWS : SYMBOL_ROWS, place, 0, 0};
    if (s->style == SONDE_SYMBOL_MODULE)
        return 0;
    row.place = place - s->behind;
    if (!sonde_once_find_row(&row) || (s->behind && row.place - (u32)row.first >= row.first >> 32)) {
        row.place = place;
        if (!sonde_once_find_row(&row))
            return 0;
    }
    u64 value = row.first >> 32;
    if (s->style >= SONDE_SYMBOL_LINE) {
        s->line = value;
        s->text = (u32)row.second;
    } else if (row.place - (u32)row.first < value) {
        s->offset = place - (u32)row.first;
        s->size = value;
        s->text = (u32)row.second;
    }
    return 0;
}

struct inlined {
    u64 address; /* wanted */
    u64 inode;   /* 0: nothing is inlined there */
    u32 path, chain;
};
ONCE int sonde_once_find_inlined(struct inlined* s)
{
    struct mapped in = {};
    if (!s || !sonde_once_find_mapping(s->address, &in) || !in.code)
        return 0;
    struct row row = {in.at.inode, INLINED_ROWS, s->address - in.at.start + in.at.offset, 0, 0};
    void* table = bpf_map_lookup_elem(&sonde_files, &in.at.inode);
    if (!table || !sonde_once_find_row(&row) || !(u32)row.second)
        return 0;
    s->inode = in.at.inode;
    s->path = element(table, 1) >> 32;
    s->chain = (u32)row.second;
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
/* "name (inlined) [path]" and a newline for each function that is inlined at an address in the current task. */
RT s64 sonde_rt_inlined(u8* slot, u64 address)
{
    struct inlined s = {address, 0, 0, 0};
    slot[0] = 0;
    sonde_once_find_inlined(&s);
    void* table = s.inode ? bpf_map_lookup_elem(&sonde_files, &s.inode) : 0;
    if (!table)
        return 0;
    struct chain c = {slot, opaque(slot, 0), table, s.path, s.chain};
    LOOP(SONDE_INLINED_MOST, add_inlined, &c);
    return 0;
}

/* The text of an address in the current task; a SONDE_SYMBOL style. What is not known is the address in hexadecimal. */
RT s64 sonde_rt_symbol(u8* slot, u64 address, u64 style)
{
    u64 behind = style >= SONDE_BEHIND_CALL;
    style &= SONDE_SYMBOL_STYLE;
    struct symbol s = {.address = address, .style = style, .behind = behind};
    u64 len = opaque(slot, 0);
    slot[0] = 0;
    sonde_once_find_symbol(&s);
    void* table = s.inode ? bpf_map_lookup_elem(&sonde_files, &s.inode) : 0;
    if (style == SONDE_SYMBOL_MODULE) {
        if (table)
            add_text(slot, len, table, s.module);
        return 0;
    }
    if (!table || (!s.text && style != SONDE_SYMBOL_DATA && style != SONDE_SYMBOL_OFFSET) ||
        (style >= SONDE_SYMBOL_LINE && !s.line)) {
        add_hex(slot, len, address);
        return 0;
    }
    if (style >= SONDE_SYMBOL_LINE) {
        if (style != SONDE_SYMBOL_LINE)
            len = add_text(slot, len, table, s.text);
        if (style == SONDE_SYMBOL_FILELINE)
            len = add_char(slot, len, ':');
        if (style != SONDE_SYMBOL_FILE)
            sonde_rt_append_long(slot, len, (s64)s.line, 'd');
        return 0;
    }
    if (s.text) {
        len = add_text(slot, len, table, s.text);
        if (style == SONDE_SYMBOL_NAME)
            return 0;
        len = add_hex(slot, add_char(slot, len, '+'), s.offset);
        if (style == SONDE_SYMBOL_DATA)
            len = add_hex(slot, add_char(slot, len, '/'), s.size);
    } else {
        len = add_hex(slot, len, address);
    }
    if (style == SONDE_SYMBOL_BRIEF)
        return 0;
    len = add_char(slot, add_char(slot, len, ' '), '[');
    len = add_text(slot, len, table, s.path);
    if (!s.text) {
        len = add_hex(slot, add_char(slot, len, '+'), s.offset);
        len = add_hex(slot, add_char(slot, len, '/'), s.size);
    }
    add_char(slot, len, ']');
    return 0;
}

/* The same of an address of the kernel's. */
ONCE int sonde_once_find_kernel_symbol(struct symbol* s)
{
    if (!s)
        return 0;
    struct row row = {SONDE_KERNEL_FILE, SYMBOL_ROWS, s->address - SONDE_KERNEL_BASE - s->behind, 0, 0};
    if (row.place >> 32 || !sonde_once_find_row(&row) || row.place - (u32)row.first >= row.first >> 32)
        return 0;
    s->offset = row.place + s->behind - (u32)row.first;
    s->size = row.first >> 32;
    s->text = (u32)row.second;
    s->module = row.second >> 32;
    return 1;
}
RT s64 sonde_rt_kernel_symbol(u8* slot, u64 address, u64 style)
{
    u64 behind = style >= SONDE_BEHIND_CALL, len = opaque(slot, 0), kernel = SONDE_KERNEL_FILE;
    style &= SONDE_SYMBOL_STYLE;
    struct symbol s = {.address = address, .behind = behind};
    slot[0] = 0;
    sonde_once_find_kernel_symbol(&s);
    void* table = bpf_map_lookup_elem(&sonde_files, &kernel);
    if (style == SONDE_SYMBOL_MODULE) {
        if (table && s.text)
            add_text(slot, len, table, s.module);
        return 0;
    }
    if (!table || !s.text || style >= SONDE_SYMBOL_LINE) {
        add_hex(slot, len, address);
        return 0;
    }
    len = add_text(slot, len, table, s.text);
    if (style == SONDE_SYMBOL_NAME)
        return 0;
    len = add_hex(slot, add_char(slot, len, '+'), s.offset);
    if (style == SONDE_SYMBOL_DATA)
        len = add_hex(slot, add_char(slot, len, '/'), s.size);
    if (style == SONDE_SYMBOL_BRIEF)
        return 0;
    len = add_char(slot, add_char(slot, len, ' '), '[');
    add_char(slot, add_text(slot, len, table, s.module), ']');
    return 0;
}
