/* A task's fields that no helper gives; 0 is the current one. */
#include "kernel_task.h"

static struct task_struct* of(u64 task) { return task ? (void*)task : bpf_get_current_task(); }

#define NUMBER_OF(name, member)                                                                                        \
    RT s64 sonde_rt_##name(u64 task)                                                                                   \
    {                                                                                                                  \
        s32 number = 0;                                                                                                \
        READ(number, of(task)->member);                                                                                \
        return number;                                                                                                 \
    }
NUMBER_OF(pid, tgid)
NUMBER_OF(tid, pid)

RT s64 sonde_rt_ppid(u64 task)
{
    struct task_struct* parent = 0;
    s32 pid = 0;
    READ(parent, of(task)->real_parent);
    READ(pid, parent->tgid);
    return pid;
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

/* As the program's last arch_prctl() or clone() has set it; the C libraries use no other way. */
RT s64 sonde_rt_thread_pointer(void)
{
    u64 base = 0;
    READ(base, of(0)->thread.fsbase);
    return (s64)base;
}

static u32 (*const bpf_get_prandom_u32)(void) = (void*)7;
static u64 (*const bpf_jiffies64)(void) = (void*)118;
RT s64 sonde_rt_random(void) { return bpf_get_prandom_u32(); }
RT s64 sonde_rt_jiffies(void) { return (s64)bpf_jiffies64(); }

/* The kernel's own table, as /proc/loadavg shows it. Its address is found when the program is loaded, where the kernel tells it
 * (CONFIG_KALLSYMS_ALL); -1 elsewhere. */
extern const void avenrun __attribute__((section(".ksyms"), weak));
RT s64 sonde_rt_loadavg(u64 index)
{
    s64 load = 0;
    if (!&avenrun || bpf_probe_read_kernel(&load, 8, (const u8*)&avenrun + 8 * (index % 3)) != 0)
        return -1;
    return load;
}

/* Where the current task left user space; 0 for the kernel's own threads. */
struct pt_regs {
    u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip;
};
static struct task_struct* (*const bpf_get_current_task_btf)(void) = (void*)158;
static struct pt_regs* (*const bpf_task_pt_regs)(struct task_struct*) = (void*)175;
RT s64 sonde_rt_user_address(void)
{
    struct mm_struct* mm = 0;
    u64 ip = 0;
    struct task_struct* task = bpf_get_current_task_btf();
    READ(mm, task->mm);
    if (!mm)
        return 0;
    bpf_probe_read_kernel(&ip, 8, (const u8*)bpf_task_pt_regs(task) + 128);
    return (s64)ip;
}
