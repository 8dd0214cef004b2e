/* Finds rows in the tables of files (runtime/plan/file_table.h): the symbol, the line, or the unwind rule at a place. */
#include "files.h"

/* A binary search in the rows of a table. `low` and `high` bound the first row that begins after `place`. */
struct search {
    void* table;
    u32 first, stride, low, high;
    u64 place;
};
static long narrow(u64 i, struct search* s)
{
    (void)i;
    u32 low = s->low, high = s->high;
    if (low >= high)
        return 1;
    u32 middle = low + (high - low) / 2;
    if ((u32)element(s->table, s->first + middle * s->stride) <= s->place)
        s->low = middle + 1;
    else
        s->high = middle;
    return 0;
}
/* The kinds of rows follow each other in the table, so each kind adds the sizes of those before it to its first
 * element. runtime/symbols/table.cc writes the table. */
ONCE int sonde_rt_find_row(struct row* r)
{
    if (!r)
        return 0;
    u64 inode = r->inode; /* a key must be on the stack or in a map (until 6.2) */
    void* table = bpf_map_lookup_elem(&sonde_files, &inode);
    if (!table) {
        r->kind = MISSING_TABLE;
        return 0;
    }
    u64 counts = element(table, 0);
    struct search s = {table, SONDE_TABLE_HEAD, 1, 0, (u32)counts, r->place};
    if (r->kind == SAVES_ROWS) {
        s.first = (u32)element(table, 5);
        s.high = element(table, 4) >> 32;
    }
    if (r->kind > SAVES_ROWS) {
        s.first += (u32)counts;
        s.stride = SONDE_TABLE_ROW;
        s.high = counts >> 32;
    }
    if (r->kind >= LINE_ROWS) {
        s.first += s.high * SONDE_TABLE_ROW;
        s.high = (u32)element(table, 1);
    }
    if (r->kind == INLINED_ROWS) {
        s.first += s.high * SONDE_TABLE_ROW;
        s.high = element(table, 3) >> 32;
    }
    LOOP(32, narrow, &s);
    if (s.low == 0)
        return 0;
    u32 index = s.first + (s.low - 1) * s.stride;
    r->first = element(table, index);
    r->second = element(table, index + 1);
    return 1;
}
