/* Finds the mapping at an address.
 *
 * The problem: a handler has an address such as 0x7f31a2c01136, and needs the function there. The same library is at
 * other addresses in each process. So the address is first converted to a file and an offset, and then a table of that
 * file is searched (rows.bpf.c).
 *
 *     address in the process
 *         the mapping that contains the address: start, file offset, inode
 *     place = address - start + file offset
 *         binary search in the table of the inode
 *     row: symbol, line, or unwind rule
 *
 * The kernel's list of mappings may be locked, and a handler must not wait. search_mapping() therefore tries four ways,
 * in this order:
 *
 * 1. bpf_find_vma(), a few times. It fails only while a thread of the process maps or unmaps memory.
 * 2. If the list is locked: read the tree of mappings without the lock, and check the result.
 * 3. The last mappings that handlers have seen in this process (sonde_known).
 * 4. bpf_find_vma() again, many times.
 *
 * A file that is seen for the first time is reported to the runtime (tell()), which compiles its table. Until then,
 * handlers have no symbols for it. The record is sent before any output with such an address, so the runtime knows the
 * mapping even if the process ends at once.
 *
 * What would break this: a table of an old file. The kernel can use the memory of a deleted inode for another file. So
 * the runtime keeps each file with a table in use, and a mapping has an `edition` (files.h). */
#include "files.h"

static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void*)14;
static void* (*const bpf_ringbuf_reserve)(void* ring, u64 size, u64 flags) = (void*)131;
static void (*const bpf_ringbuf_submit)(void* data, u64 flags) = (void*)132;

enum { MAPPING_RECORD = 4 /* plan::Mapping */, WAKE = 2 /* BPF_RB_FORCE_WAKEUP */, NEW_ONLY = 1 /* BPF_NOEXIST */ };
enum { FEW_TRIES = 4, MANY_TRIES = 2000 };

struct record {
    u32 type, format, row, size; /* plan::RecordHeader */
    struct sonde_new_mapping body;
};
struct names {
    u64 dentry;
    struct record* record;
};
/* One step up in the file's path: stores the name of a folder, and continues with its parent. Ends at the root of the
 * file system, whose parent is itself. */
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
static struct sonde_known* known_of(u64 process) { return bpf_map_lookup_elem(&sonde_known, &process); }
/* Adds an executable mapping to the process' list of known mappings. The list is a ring: the newest entry replaces the
 * oldest one. */
static void remember(struct sonde_found* m)
{
    u64 process = m->at.process;
    if (!m->code)
        return;
    if (!known_of(process))
        bpf_map_update_elem(&sonde_known, &process, sonde_rt_zeros, NEW_ONLY);
    struct sonde_known* known = known_of(process);
    if (known)
        known->list[__sync_fetch_and_add(&known->count, 1) & (SONDE_KNOWN_MOST - 1)] = m->at;
}

/* Reports a mapping to the runtime once, before any output about it, and wakes the runtime immediately, because the
 * process may end soon. */
static void tell(struct sonde_found* m)
{
    u64 known = 1;
    struct sonde_mapping mapping = m->at; /* a key must be on the stack or in a map (until 6.2) */
    if (bpf_map_lookup_elem(&sonde_mapped, &mapping))
        return;
    struct record* record = bpf_ringbuf_reserve(&sonde_events, sizeof *record, 0);
    if (!record)
        return;
    record->type = MAPPING_RECORD;
    record->size = sizeof record->body;
    record->body.mapping = mapping;
    struct names n = {m->dentry, record};
    LOOP(SONDE_NAMES, add_name, &n);
    bpf_ringbuf_submit(record, WAKE);
    bpf_map_update_elem(&sonde_mapped, &mapping, &known, 0);
    remember(m);
}

struct wanted {
    u64 address, found;
    struct sonde_found* m;
    struct sonde_known* known;
};
/* While nothing is found, the fields for the result contain the search's state: all these calls share a stack of 512
 * bytes. */
#define BUSY(w) ((w)->m->code)     /* the list of mappings is locked */
#define NODE(w) ((w)->m->at.start) /* a node of the tree of mappings */
#define SLOT(w) ((w)->m->at.end)

/* The list is locked while a thread of the process maps or unmaps memory, and also while that thread is not running. */
static long take(struct task_struct* task, struct vm_area_struct* vma, struct wanted* w)
{
    return take_mapping(task, vma, w->m);
}
static long ask(u64 i, struct wanted* w)
{
    (void)i;
    long status = bpf_find_vma(bpf_get_current_task_btf(), w->address, (void*)take, w, 0);
    w->found = status == 0;
    if (status == -16 /* EBUSY */) {
        BUSY(w) = 1;
        return 0;
    }
    return 1;
}

/* Finds the mapping without the lock, by reading the tree itself. The kernel does not change nodes that others may
 * be reading, but replaces them. So the result is checked: it must be a mapping of this process that contains the
 * address. If it is not, the search starts again.
 *
 * A node's pivots are the last addresses in the ranges of its slots; a pivot of 0 after the first one ends the list.
 * Bits 3 to 6 of an entry are the type of the node that it points to. A node has 256 bytes. See
 * Documentation/core-api/maple_tree.rst and include/linux/maple_tree.h. */
enum { NODE_BYTES = 256, LEAF = 1, GAPPED_RANGE = 3, TREE_STEPS = 256 };
static u64 own_memory(void)
{
    u64 mm = 0;
    READ(mm, bpf_get_current_task_btf()->mm);
    return mm;
}
static inline void begin_descent(struct wanted* w)
{
    u64 mm = own_memory();
    READ(NODE(w), ((struct mm_struct___tree*)mm)->mm_mt.ma_root);
    SLOT(w) = unknown_zero(NODE(w));
}
/* Returns 1 if this is the mapping. */
static long read_mapping(struct vm_area_struct* vma, struct wanted* w)
{
    struct sonde_found* m = w->m;
    u64 word = 0;
    READ(word, vma->vm_mm);
    if (word != own_memory())
        return 0;
    READ(m->at.start, vma->vm_start);
    READ(m->at.end, vma->vm_end);
    READ(m->at.offset, vma->vm_pgoff);
    READ(m->code, vma->vm_flags);
    READ(word, vma->vm_file);
    m->at.offset *= sonde_data.page_size;
    m->code &= VM_EXEC;
    if (word) {
        READ(m->at.inode, ((struct file*)word)->f_inode);
        READ(m->dentry, ((struct file*)word)->f_path.dentry);
        struct inode* inode = (struct inode*)m->at.inode;
        m->at.edition = EDITION(inode, word, READ_WORD);
    }
    return w->address >= m->at.start && w->address < m->at.end;
}
static long descend(u64 i, struct wanted* w)
{
    (void)i;
    u64 kind = NODE(w) >> 3 & 15, at = NODE(w) & ~(u64)(NODE_BYTES - 1), word = 0;
    if (kind < LEAF || kind > GAPPED_RANGE) {
        begin_descent(w);
        return 0;
    }
    if (SLOT(w) < (kind == GAPPED_RANGE ? 9 : 15)) {
        at += kind == GAPPED_RANGE ? OFFSET(maple_arange_64, pivot) : OFFSET(maple_range_64, pivot);
        bpf_probe_read_kernel(&word, sizeof word, (void*)(at + 8 * SLOT(w)));
        if (word < w->address && (word || SLOT(w) == 0)) {
            SLOT(w) += 1 + unknown_zero(word); /* the sum hides SLOT from the verifier, which would check each slot otherwise */
            return 0;
        }
        at = NODE(w) & ~(u64)(NODE_BYTES - 1);
    }
    at += kind == GAPPED_RANGE ? OFFSET(maple_arange_64, slot) : OFFSET(maple_range_64, slot);
    bpf_probe_read_kernel(&word, sizeof word, (void*)(at + 8 * SLOT(w)));
    SLOT(w) = unknown_zero(word);
    NODE(w) = word;
    if (kind != LEAF)
        return 0;
    w->found = word && read_mapping((void*)word, w);
    if (!w->found)
        begin_descent(w);
    return w->found;
}

/* Before 6.1 the kernel has no such tree. Then only the mappings are known that handlers have seen in this process. */
static long recall(u64 i, struct wanted* w)
{
    struct sonde_mapping* mapping = &w->known->list[(w->known->count - 1 - i) & (SONDE_KNOWN_MOST - 1)];
    if (w->address < mapping->start || w->address >= mapping->end)
        return 0;
    w->m->at = *mapping;
    w->m->code = w->found = 1;
    return 1;
}

/* Searches the mapping and fills `m`, in which only the process is set. Returns 1 if there is one. */
static inline u64 search_mapping(u64 address, struct sonde_found* m)
{
    struct wanted w = {address, 0, m, 0};
    LOOP(FEW_TRIES, ask, &w);
    if (!w.found && BUSY(&w) && HAS(mm_struct___tree, mm_mt)) {
        /* Verifiers before 6.7 check a callback once, with the values before the loop, when nothing is found yet. */
        begin_descent(&w);
        w.found = unknown_zero(NODE(&w));
        LOOP(TREE_STEPS, descend, &w);
    }
    if (!w.found)
        w.known = known_of(m->at.process);
    if (w.known)
        LOOP(SONDE_KNOWN_MOST, recall, &w);
    if (!w.found)
        LOOP(MANY_TRIES, ask, &w);
    return w.found;
}
/* The vDSO, which is kernel code in each process, is an ELF file without an inode. */
static inline void identify_vdso(struct sonde_found* m)
{
    struct vdso_image* image = 0;
    void *vdso = 0, *data = 0;
    u8 class = 0;
    u64 mm = own_memory();
    READ(vdso, ((struct mm_struct*)mm)->context.vdso);
    if ((u64)vdso != m->at.start)
        return;
    /* Kernels that do not store the image have one for 32-bit programs, too. */
    if (HAS(mm_context, vdso_image)) {
        READ(image, ((struct mm_struct*)mm)->context.vdso_image);
        READ(data, image->data);
        bpf_probe_read_kernel(&class, 1, (u8*)data + 4 /* EI_CLASS */);
    } else {
        u64 mode = 0;
        bpf_probe_read_kernel(&mode, 8, (const u8*)bpf_task_pt_regs(bpf_get_current_task_btf()) + SONDE_REGS_MODE);
        class = sonde_is_32_bit_mode(mode) ? 1 : 2;
    }
    m->at.inode = class == 1 ? SONDE_VDSO_FILE_32 : SONDE_VDSO_FILE;
    m->at.offset = 0;
    m->dentry = 0;
}
ONCE int sonde_rt_find_mapping(u64 address, struct sonde_found* m)
{
    if (!m)
        return 0;
    if (address >= m->at.start && address < m->at.end)
        return 1;
    *m = (struct sonde_found){};
    m->at.process = bpf_get_current_pid_tgid() >> 32;
    if (!search_mapping(address, m)) {
        m->at.end = 0;
        return 0;
    }
    if (!m->at.inode && m->code)
        identify_vdso(m);
    if (m->at.inode)
        tell(m);
    return 1;
}
