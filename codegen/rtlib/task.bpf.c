/* Fields of a task that no helper returns. 0 stands for the current task.
 *
 * The offsets of members differ between kernels. clang records each access (preserve_access_index), and libbpf puts in
 * the running kernel's offsets when it loads the program (CO-RE). If a member does not exist in some kernels, HAS()
 * tests for it at load time.
 *
 * READ() copies a member with bpf_probe_read_kernel(). If the address is wrong, the helper stores 0. So a task that
 * lacks some structure gives 0, and no check is necessary after each step. */
#include "../../runtime/plan/session_words.h"
#include "kernel_task.h"
#include "numbering.h"

extern struct sonde_session_words sonde_data;

static struct task_struct* of(u64 task) { return task ? (void*)task : bpf_get_current_task(); }

/* The process' number in the initial PID namespace, by which the kernel side identifies processes. */
RT s64 sonde_rt_kernel_pid(u64 task)
{
    s32 number = 0;
    READ(number, of(task)->tgid);
    return number;
}

/* The numbers that scripts see. */
RT s64 sonde_rt_pid(u64 task)
{
    return sonde_numbering.level ? process_number((u64)of(task)) : sonde_rt_kernel_pid(task);
}
RT s64 sonde_rt_tid(u64 task)
{
    s32 number = 0;
    if (sonde_numbering.level)
        return thread_number((u64)of(task));
    READ(number, of(task)->pid);
    return number;
}

RT s64 sonde_rt_ppid(u64 task)
{
    struct task_struct* parent = 0;
    READ(parent, of(task)->real_parent);
    return parent ? sonde_rt_pid((u64)parent) : 0;
}

#define ID_OF(name)                                                                                                    \
    RT s64 sonde_rt_##name(u64 task)                                                                                   \
    {                                                                                                                  \
        const struct cred* cred = 0;                                                                                   \
        u32 id = 0;                                                                                                    \
        READ(cred, of(task)->cred);                                                                                    \
        READ(id, cred->name.val);                                                                                      \
        return id;                                                                                                     \
    }
ID_OF(uid)
ID_OF(gid)
ID_OF(euid)
ID_OF(egid)

RT s64 sonde_rt_execname(u8* slot, u64 task)
{
    struct task_struct* other = of(task);
    return bpf_probe_read_kernel_str(slot, 16, __builtin_preserve_access_index(&other->comm));
}

/* Finds the end of a text in 8 bytes: the highest bit of the first NUL byte, or 0. */
static inline u64 end_in(u64 bytes) { return (bytes - 0x0101010101010101ull) & ~bytes & 0x8080808080808080ull; }
/* The bytes before that end. */
static inline u64 before(u64 end, u64 bytes) { return bytes & (((end & -end) >> 7) - 1); }

/* The current task's name, padded with NULs. Two loads are faster than the helper, which copies byte by byte. */
RT s64 sonde_rt_current_comm(u64* slot)
{
    struct task_struct* self = bpf_get_current_task_btf();
    const u64* comm = (const u64*)__builtin_preserve_access_index(&self->comm);
    u64 first = comm[0], second = comm[1] & ~0ull >> 8;
    u64 end = end_in(first);
    second &= ((end | -end) >> 63) - 1; /* zero everything after an end */
    slot[0] = before(end, first);
    slot[1] = before(end_in(second), second);
    return 0;
}

/* Whether the registers are those of a 32-bit program. */
static s64 is_narrow(u64 regs)
{
    u64 mode = 0;
    bpf_probe_read_kernel(&mode, sizeof mode, (void*)(regs + SONDE_REGS_MODE));
    return !sonde_is_wide_mode(mode);
}
static u64 own_registers(void) { return (u64)bpf_task_pt_regs(bpf_get_current_task_btf()); }

/* Whether the task is in a 32-bit system call; these have other numbers. */
RT s64 sonde_rt_in_32_bit_call(void)
{
    if (SONDE_COMPAT_CALL == 0)
        return is_narrow(own_registers());
    if (HAS(task_struct, thread_info.status))
        return (bpf_get_current_task_btf()->thread_info.status & SONDE_COMPAT_CALL) != 0;
    return 0;
}
/* The same for the task with these registers, even if the task does not have the flag. */
RT s64 sonde_rt_in_compat_call(u64 regs)
{
    if (SONDE_COMPAT_CALL != 0 && HAS(task_struct, thread_info.status))
        return sonde_rt_in_32_bit_call();
    return is_narrow(regs);
}

/* Whether the call uses 32-bit times. clock_gettime64 to sched_rr_get_interval_time64 do not; they have the same numbers
 * on all architectures. */
RT s64 sonde_rt_has_narrow_times(void)
{
    enum { FIRST_OF_64 = 403, LAST_OF_64 = 423 };
    u32 number = 0; /* the lower half */
    if (!sonde_rt_in_32_bit_call())
        return 0;
    bpf_probe_read_kernel(&number, sizeof number, (const void*)(own_registers() + SONDE_REGS_SYSCALL));
    return number < FIRST_OF_64 || number > LAST_OF_64;
}

/* The value that the kernel has stored for the program. */
RT s64 sonde_rt_thread_pointer(void)
{
    u64 base = 0;
    READ(base, of(0)->thread.SONDE_THREAD_POINTER);
    return (s64)base;
}

/* The kernel's table behind /proc/loadavg. libbpf finds its address when it loads the program, if the kernel exports
 * it (CONFIG_KALLSYMS_ALL). Otherwise the result is -1. */
extern const void avenrun __attribute__((section(".ksyms"), weak));
RT s64 sonde_rt_loadavg(u64 index)
{
    s64 load = 0;
    if (!&avenrun || bpf_probe_read_kernel(&load, 8, (const u8*)&avenrun + 8 * (index % 3)) != 0)
        return -1;
    return load;
}

/* The kernel's direct map of all memory, and its table of NUMA nodes. With one node there is no table. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pglist_data {
    unsigned long node_start_pfn, node_spanned_pages;
};
#pragma clang attribute pop
extern const void page_offset_base __attribute__((section(".ksyms"), weak));
extern const void node_data __attribute__((section(".ksyms"), weak));
extern const void nr_node_ids __attribute__((section(".ksyms"), weak));
extern const void contig_page_data __attribute__((section(".ksyms"), weak));
struct node_search {
    u64 page;
    s64 found;
};
static s64 is_in_node(const struct pglist_data* node, u64 page)
{
    u64 first = 0, count = 0;
    READ(first, node->node_start_pfn);
    READ(count, node->node_spanned_pages);
    return page - first < count;
}
static long node_step(u64 i, struct node_search* s)
{
    struct pglist_data* node = 0;
    bpf_probe_read_kernel(&node, sizeof node, (const u8*)&node_data + 8 * i);
    if (!node || !is_in_node(node, s->page))
        return 0;
    s->found = (s64)i;
    return 1;
}
/* Returns -1 for an address outside of the direct map, and -2 if the node is unknown. */
RT s64 sonde_rt_memory_node(u64 address)
{
    enum { MOST_NODES = 1024, OUTSIDE = -1, UNKNOWN = -2 };
    u64 base = SONDE_DIRECT_MAP, bytes = SONDE_DIRECT_MAP_BYTES;
    u32 count = 1;
    s64 unknown = address >= SONDE_DIRECT_MAP && address < SONDE_DIRECT_MAP_END ? UNKNOWN : OUTSIDE;
    if (&page_offset_base)
        bpf_probe_read_kernel(&base, 8, &page_offset_base);
    if ((s64)address >= 0 || address - base >= bytes)
        return unknown;
    struct node_search s = {(address - base) / sonde_data.page_size, unknown};
    if (!&node_data)
        return &contig_page_data && is_in_node((const struct pglist_data*)&contig_page_data, s.page) ? 0 : unknown;
    if (&nr_node_ids)
        bpf_probe_read_kernel(&count, 4, &nr_node_ids);
    LOOP(count < MOST_NODES ? count : MOST_NODES, node_step, &s);
    return s.found;
}

/* Where the current task left user space. 0 for kernel threads, and if the handler is about another task. */
RT s64 sonde_rt_user_address(u64 about)
{
    struct mm_struct* mm = 0;
    u64 ip = 0;
    struct task_struct* task = bpf_get_current_task_btf();
    READ(mm, task->mm);
    if (!mm || (about && about != (u64)bpf_get_current_task()))
        return 0;
    bpf_probe_read_kernel(&ip, 8, (const u8*)bpf_task_pt_regs(task) + SONDE_REGS_PC);
    return (s64)ip;
}

/* Whether the kernel follows at least this number of pending returns in the current thread. */
RT s64 sonde_rt_follows_returns(u64 count)
{
    if (!HAS(uprobe_task, depth))
        return 0;
    return bpf_get_current_task_btf()->utask->depth >= count;
}
