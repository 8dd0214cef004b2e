/* Which file a user address lies in, and that file's table (runtime/symbols/file_table.h).
 *
 * The kernel's own list of mappings says it at that moment: nothing has to be kept about processes, and it is right
 * whatever they have loaded meanwhile. */
#pragma once

#include "rt.h"

#include "../../runtime/symbols/file_table.h"
#include "../../runtime/symbols/stack.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inode;
struct file {
    struct inode* f_inode;
};
struct vm_area_struct {
    u64 vm_start, vm_end, vm_pgoff, vm_flags;
    struct file* vm_file;
};
#pragma clang attribute pop
struct task_struct;

extern u8 sonde_files, sonde_mapped, sonde_events; /* maps, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;
static struct task_struct* (*const bpf_get_current_task_btf)(void) = (void*)158;
static long (*const bpf_find_vma)(struct task_struct* task, u64 address, void* callback, void* context,
                                  u64 flags) = (void*)180; /* 5.17, bpf: Introduce helper bpf_find_vma */

/* ---- which file an address lies in */

enum { VM_EXEC = 4, FIND_TRIES = 4 };

struct mapped {
    struct sonde_mapping at;
    u64 code; /* it may be executed */
};

static long take_mapping(struct task_struct* task, struct vm_area_struct* vma, struct mapped* m) {
    (void)task;
    struct file* file = vma->vm_file;
    m->at.start = vma->vm_start;
    m->at.end = vma->vm_end;
    m->at.offset = vma->vm_pgoff << 12;
    m->code = vma->vm_flags & VM_EXEC;
    if (file)
        m->at.inode = (u64)file->f_inode;
    return 0;
}

/* Tells the runtime of a mapping once, in front of everything that is printed about it. */
static void tell(struct mapped* m) {
    u64 known = 1;
    struct {
        u32 type, format, row, size;
        struct sonde_mapping mapping;
    } record = {4 /* plan::Mapping */, 0, 0, sizeof(struct sonde_mapping), m->at};
    if (bpf_map_lookup_elem(&sonde_mapped, &m->at))
        return;
    if (bpf_ringbuf_output(&sonde_events, &record, sizeof record, 0) == 0)
        bpf_map_update_elem(&sonde_mapped, &m->at, &known, 0);
}

/* What `address` lies in; m may have the answer to the last question. The kernel may be busy with the list. */
static __attribute__((noinline, unused)) u64 find_mapping(u64 address, struct mapped* m) {
    if (address >= m->at.start && address < m->at.end)
        return 1;
    m->at.inode = m->at.end = m->code = 0;
    struct task_struct* task = bpf_get_current_task_btf();
    long status = -1;
    for (int i = 0; i < FIND_TRIES && status != 0; i++)
        status = bpf_find_vma(task, address, (void*)take_mapping, m, 0);
    if (status != 0)
        return 0;
    if (m->at.inode)
        tell(m);
    return 1;
}

/* ---- rows */

struct search {
    void* table;
    u32 first, stride, low, high;
    u64 place;
};
static long narrow(u64 i, struct search* s) {
    (void)i;
    u32 low = s->low, high = s->high;
    if (low >= high)
        return 1;
    u32 middle = low + (high - low) / 2;
    u32 index = s->first + middle * s->stride;
    u64* row = bpf_map_lookup_elem(s->table, &index);
    if (!row)
        return 1;
    if ((u32)*row <= s->place)
        s->low = middle + 1;
    else
        s->high = middle;
    return 0;
}
/* The last of `count` sorted rows, `stride` elements each, that begins at `place` or before: its element, or 0. */
static __attribute__((noinline, unused)) u32 find_row(void* table, u32 first, u32 stride, u32 count, u64 place) {
    struct search s = {table, first, stride, 0, count, place};
    LOOP(32, narrow, &s);
    return s.low ? first + (s.low - 1) * stride : 0;
}

static inline u64 element(void* table, u32 index) {
    u64* value = bpf_map_lookup_elem(table, &index);
    return value ? *value : 0;
}
