/* The current task's fields that no helper gives, by CO-RE. */
#include "rt.h"
#include "task.h"

static struct task_struct* (*const bpf_get_current_task)(void) = (void*)35;

#define READ(dst, src) bpf_probe_read_kernel(&(dst), sizeof(dst), __builtin_preserve_access_index(&(src)))

RT s64 sonde_rt_ppid(void)
{
    struct task_struct* task = bpf_get_current_task();
    struct task_struct* parent = 0;
    s32 pid = 0;
    READ(parent, task->real_parent);
    READ(pid, parent->tgid);
    return pid;
}

RT s64 sonde_rt_euid(void)
{
    struct task_struct* task = bpf_get_current_task();
    const struct cred* cred = 0;
    u32 id = 0;
    READ(cred, task->cred);
    READ(id, cred->euid.val);
    return id;
}

RT s64 sonde_rt_egid(void)
{
    struct task_struct* task = bpf_get_current_task();
    const struct cred* cred = 0;
    u32 id = 0;
    READ(cred, task->cred);
    READ(id, cred->egid.val);
    return id;
}

static u32 (*const bpf_get_prandom_u32)(void) = (void*)7;
static u64 (*const bpf_jiffies64)(void) = (void*)118;
RT s64 sonde_rt_random(void) { return bpf_get_prandom_u32(); }
RT s64 sonde_rt_jiffies(void) { return (s64)bpf_jiffies64(); }
