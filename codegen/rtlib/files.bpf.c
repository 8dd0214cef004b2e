/* Looking up mappings and the tables of files. */
#include "files.h"

static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static void* (*const bpf_ringbuf_reserve)(void* ring, u64 size, u64 flags) = (void*)131;
static void (*const bpf_ringbuf_submit)(void* data, u64 flags) = (void*)132;

enum { MAPPING_RECORD = 4 /* plan::Mapping */, WAKE = 2 /* BPF_RB_FORCE_WAKEUP */, FIND_TRIES = 4 };

struct record {
    u32 type, format, row, size; /* plan::RecordHeader */
    struct sonde_new_mapping body;
};
struct names {
    u64 dentry;
    struct record* record;
};
static long add_name(u64 i, struct names* n)
{
    struct dentry *at = (void*)n->dentry, *parent = 0;
    const unsigned char* name = 0;
    char* out = n->record->body.names[i & (SONDE_NAMES - 1)];
    out[0] = 0;
    READ(parent, at->d_parent);
    READ(name, at->d_name.name);
    if (parent == at)
        return 1;
    bpf_probe_read_kernel_str(out, SONDE_NAME_SIZE, name);
    n->dentry = (u64)parent;
    return 0;
}
/* Tells the runtime of a mapping once, in front of everything that is printed about it, and at once: the process may not
 * live long. */
static void tell(struct mapped* m)
{
    u64 known = 1;
    if (bpf_map_lookup_elem(&sonde_mapped, &m->at))
        return;
    struct record* record = bpf_ringbuf_reserve(&sonde_events, sizeof *record, 0);
    if (!record)
        return;
    record->type = MAPPING_RECORD;
    record->size = sizeof record->body;
    record->body.mapping = m->at;
    struct names n = {m->dentry, record};
    LOOP(SONDE_NAMES, add_name, &n);
    bpf_ringbuf_submit(record, WAKE);
    bpf_map_update_elem(&sonde_mapped, &m->at, &known, 0);
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
        tell(&found);
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
