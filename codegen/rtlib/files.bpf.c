/* Looking up mappings and the tables of files. */
#include "files.h"

static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;

enum { MAPPING_RECORD = 4 /* plan::Mapping */, WAKE = 2 /* BPF_RB_FORCE_WAKEUP */, FIND_TRIES = 4 };

/* Tells the runtime of a mapping once, in front of everything that is printed about it, and at once: the process may not
 * live long. */
static void tell(struct sonde_mapping* mapping)
{
    u64 known = 1;
    struct {
        u32 type, format, row, size;
        struct sonde_mapping mapping;
    } record = {MAPPING_RECORD, 0, 0, sizeof(struct sonde_mapping), *mapping};
    if (bpf_map_lookup_elem(&sonde_mapped, mapping))
        return;
    if (bpf_ringbuf_output(&sonde_events, &record, sizeof record, WAKE) == 0)
        bpf_map_update_elem(&sonde_mapped, mapping, &known, 0);
}

ONCE int sonde_once_find_mapping(u64 address, struct mapped* m)
{
    if (!m)
        return 0;
    if (address >= m->at.start && address < m->at.end)
        return 1;
    struct mapped found = {};
    found.at.process = bpf_get_current_pid_tgid() >> 32;
    /* The list may be busy for a moment. */
    long status = -1;
    for (int i = 0; i < FIND_TRIES && status != 0; i++)
        status = bpf_find_vma(bpf_get_current_task_btf(), address, (void*)take_mapping, &found, 0);
    *m = found;
    if (status == 0 && found.at.inode)
        tell(&found.at);
    return status == 0;
}

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
ONCE int sonde_once_find_row(struct row* r)
{
    void* table = r ? bpf_map_lookup_elem(&sonde_files, &r->inode) : 0;
    if (!table)
        return 0;
    u64 counts = element(table, 0);
    struct search s = {table, SONDE_TABLE_HEAD, 1, 0, (u32)counts, r->place};
    if (r->kind != UNWIND_ROWS) {
        s.first += (u32)counts;
        s.stride = SONDE_TABLE_ROW;
        s.high = counts >> 32;
    }
    if (r->kind == LINE_ROWS) {
        s.first += s.high * SONDE_TABLE_ROW;
        s.high = (u32)element(table, 1);
    }
    LOOP(32, narrow, &s);
    if (s.low == 0)
        return 0;
    u32 index = s.first + (s.low - 1) * s.stride;
    r->first = element(table, index);
    r->second = element(table, index + 1);
    return 1;
}
