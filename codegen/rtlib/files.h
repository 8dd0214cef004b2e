/* Which file a user address lies in, and that file's table (runtime/symbols/file_table.h).
 *
 * The kernel's own list of mappings says it at that moment: nothing has to be kept about processes, and it is right
 * whatever they have loaded meanwhile.
 *
 * sonde_once_NAME are global functions: the verifier checks each of them once, whoever calls it and how often. */
#pragma once

#include "rt.h"

#include "../../runtime/symbols/file_table.h"
#include "../../runtime/symbols/stack.h"

#define ONCE __attribute__((noinline))
#define READ(dst, src) bpf_probe_read_kernel(&(dst), sizeof(dst), __builtin_preserve_access_index(&(src)))

struct task_struct;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inode;
struct qstr {
    const unsigned char* name;
};
struct dentry {
    struct dentry* d_parent; /* its own of the root */
    struct qstr d_name;
};
struct path {
    struct dentry* dentry;
};
struct file {
    struct inode* f_inode;
    struct path f_path;
};
struct vm_area_struct {
    u64 vm_start, vm_end, vm_pgoff, vm_flags;
    struct file* vm_file;
};
#pragma clang attribute pop

extern u8 sonde_files, sonde_mapped, sonde_events; /* maps, defined by the script's module */

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static struct task_struct* (*const bpf_get_current_task_btf)(void) = (void*)158;
/* 5.17, bpf: Introduce helper bpf_find_vma */
static long (*const bpf_find_vma)(struct task_struct* task, u64 address, void* callback, void* context,
                                  u64 flags) = (void*)180;

struct mapped {
    struct sonde_mapping at;
    u64 code;   /* it may be executed */
    u64 dentry; /* of the file */
};
enum { VM_EXEC = 4 };
static inline long take_mapping(struct task_struct* task, struct vm_area_struct* vma, struct mapped* m) {
    (void)task;
    struct file* file = vma->vm_file;
    m->at.start = vma->vm_start;
    m->at.end = vma->vm_end;
    m->at.offset = vma->vm_pgoff << 12;
    m->code = vma->vm_flags & VM_EXEC;
    if (file) {
        m->at.inode = (u64)file->f_inode;
        m->dentry = (u64)file->f_path.dentry;
    }
    return 0;
}

/* Fills m, which may have the answer to the last question; 1 if `address` lies in something. */
int sonde_once_find_mapping(u64 address, struct mapped* m);

/* Rows of a file's table. */
enum row_kind { UNWIND_ROWS, SYMBOL_ROWS, LINE_ROWS };
struct row {
    u64 inode, kind, place; /* wanted */
    u64 first, second;      /* found: the row's words; a row for unwinding has one */
};
/* The last row that begins at `place` or before; 1 if there is one. */
int sonde_once_find_row(struct row* r);

static inline u64 element(void* table, u32 index) {
    u64* value = bpf_map_lookup_elem(table, &index);
    return value ? *value : 0;
}
