/* Finds the file that is mapped at a user address, and the file's table (runtime/plan/file_table.h).
 *
 * The kernel's own list of mappings is read at that moment. So nothing has to be stored about processes, and the
 * result is right even for files that were loaded just before. */
#pragma once

#include "kernel_task.h"

#include "../../runtime/plan/file_table.h"
#include "../../runtime/plan/session_words.h"
#include "../../runtime/plan/stack.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* Since 6.1 a process' mappings are the leaves of a maple tree (mm: start tracking VMAs with maple tree). */
struct maple_tree {
    void* ma_root;
};
struct mm_struct___tree {
    struct maple_tree mm_mt;
};
struct maple_range_64 {
    u64 pivot[15];
    void* slot[16];
};
struct maple_arange_64 {
    u64 pivot[9];
    void* slot[10];
};
#pragma clang attribute pop

extern u8 sonde_files, sonde_mapped, sonde_known, sonde_events; /* maps, defined by the script's module */
extern struct sonde_session_words sonde_data;

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
/* 5.17, bpf: Introduce helper bpf_find_vma */
static long (*const bpf_find_vma)(struct task_struct* task, u64 address, void* callback, void* context,
                                  u64 flags) = (void*)180;

enum { VM_EXEC = 4 };
/* A checksum of a file's inode. The kernel reuses an inode's memory and its number when the file is deleted, but the
 * new file has another generation. `load` reads a member into `word`; all members use the same variable, because
 * there is little stack. */
#define ADD(word, load, member) (load(word, member), sum_ = sonde_mix(sum_, word, 0xff51afd7ed558ccdull))
#define EDITION(inode, word, load)                                                                                     \
    ({                                                                                                                 \
        u64 sum_ = 0;                                                                                                  \
        ADD(word, load, (inode)->i_ino);                                                                               \
        ADD(word, load, (inode)->i_generation);                                                                        \
        if (HAS(inode___split, i_mtime_sec)) {                                                                         \
            ADD(word, load, ((struct inode___split*)(inode))->i_mtime_sec);                                            \
            ADD(word, load, ((struct inode___split*)(inode))->i_mtime_nsec);                                           \
        } else if (HAS(inode___hidden, __i_mtime)) {                                                                   \
            ADD(word, load, ((struct inode___hidden*)(inode))->__i_mtime.tv_sec);                                      \
            ADD(word, load, ((struct inode___hidden*)(inode))->__i_mtime.tv_nsec);                                     \
        } else if (HAS(inode___whole, i_mtime)) {                                                                      \
            ADD(word, load, ((struct inode___whole*)(inode))->i_mtime.tv_sec);                                         \
            ADD(word, load, ((struct inode___whole*)(inode))->i_mtime.tv_nsec);                                        \
        }                                                                                                              \
        sum_;                                                                                                          \
    })
#define LOAD(word, member) ((word) = (u64)(member))
#define READ_WORD(word, member)                                                                                        \
    ((word) = 0, bpf_probe_read_kernel(&(word), sizeof(member), __builtin_preserve_access_index(&(member))))
static inline long take_mapping(struct task_struct* task, struct vm_area_struct* vma, struct sonde_found* m) {
    (void)task;
    struct file* file = vma->vm_file;
    m->at.start = vma->vm_start;
    m->at.end = vma->vm_end;
    m->at.offset = vma->vm_pgoff * sonde_data.page_size;
    m->code = vma->vm_flags & VM_EXEC;
    if (file) {
        struct inode* inode = file->f_inode;
        m->at.inode = (u64)inode;
        u64 word;
        m->at.edition = EDITION(inode, word, LOAD);
        m->dentry = (u64)file->f_path.dentry;
    }
    return 0;
}

/* Finds the mapping that contains `address` and fills m. m may contain the result of the last call. Returns 1 if
 * there is a mapping. */
int sonde_rt_find_mapping(u64 address, struct sonde_found* m);

/* A search for a row of a file's table. The result replaces the input, because callers have little stack. */
enum row_kind { UNWIND_ROWS, SAVES_ROWS, SYMBOL_ROWS, LINE_ROWS, INLINED_ROWS, MISSING_TABLE };
struct row {
    union {
        u64 inode;
        u64 first; /* the row's first word */
    };
    union {
        u64 place;
        u64 second; /* the row's second word; rows for unwinding have one word */
    };
    u64 kind; /* becomes MISSING_TABLE if the file has no table */
};
/* Finds the last row that begins at or before `place`. Returns 1 if there is one. */
int sonde_rt_find_row(struct row* r);

/* An element of a file's table; 0 if the index is outside. */
static inline u64 element(void* table, u32 index) {
    u64* value = bpf_map_lookup_elem(table, &index);
    return value ? *value : 0;
}
