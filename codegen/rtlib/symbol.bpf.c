/* What lies at a user address, as text. */
#include "mapped.h"

static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;

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

/* The text of an address in the current task; a SONDE_SYMBOL style. What is not known is the address in hexadecimal. */
RT s64 sonde_rt_symbol(u8* slot, u64 address, u64 style)
{
    struct mapped in = {};
    u64 len = opaque(slot, 0);
    slot[0] = 0;
    in.at.process = bpf_get_current_pid_tgid() >> 32;
    void* table = find_mapping(address, &in) && in.code ? bpf_map_lookup_elem(&sonde_files, &in.at.inode) : 0;
    if (!table) {
        if (style != SONDE_SYMBOL_MODULE)
            add_hex(slot, len, address);
        return 0;
    }
    u64 counts = element(table, 0), more = element(table, 1), sizes = element(table, 2);
    u64 place = address - in.at.start + in.at.offset;
    u32 unwind = (u32)counts, symbols = counts >> 32, lines = (u32)more, path = more >> 32;
    if (style == SONDE_SYMBOL_MODULE) {
        add_text(slot, len, table, (u32)(sizes >> 32));
        return 0;
    }
    u32 first = SONDE_TABLE_HEAD + unwind;
    if (style >= SONDE_SYMBOL_LINE) {
        u32 row = find_row(table, first + symbols * SONDE_TABLE_ROW, SONDE_TABLE_ROW, lines, place);
        u64 line = row ? element(table, row) >> 32 : 0;
        if (line == 0) {
            add_hex(slot, len, address);
            return 0;
        }
        if (style != SONDE_SYMBOL_LINE)
            len = add_text(slot, len, table, (u32)element(table, row + 1));
        if (style == SONDE_SYMBOL_FILELINE)
            len = add_char(slot, len, ':');
        if (style != SONDE_SYMBOL_FILE)
            sonde_rt_append_long(slot, len, (s64)line, 'd');
        return 0;
    }
    u32 row = find_row(table, first, SONDE_TABLE_ROW, symbols, place);
    u64 head = row ? element(table, row) : 0;
    u64 offset = place - (u32)head, size = head >> 32;
    if (row && offset < size) {
        len = add_text(slot, len, table, (u32)element(table, row + 1));
        if (style == SONDE_SYMBOL_NAME)
            return 0;
        len = add_hex(slot, add_char(slot, len, '+'), offset);
        if (style == SONDE_SYMBOL_DATA)
            len = add_hex(slot, add_char(slot, len, '/'), size);
        if (style != SONDE_SYMBOL_BRIEF) {
            len = add_char(slot, add_char(slot, len, ' '), '[');
            add_char(slot, add_text(slot, len, table, path), ']');
        }
        return 0;
    }
    len = add_hex(slot, len, address);
    if (style == SONDE_SYMBOL_NAME || style == SONDE_SYMBOL_BRIEF)
        return 0;
    len = add_char(slot, add_char(slot, len, ' '), '[');
    len = add_text(slot, len, table, path);
    len = add_hex(slot, add_char(slot, len, '+'), (u32)(place + (u32)element(table, 3)));
    len = add_hex(slot, add_char(slot, len, '/'), (u32)sizes);
    add_char(slot, len, ']');
    return 0;
}
