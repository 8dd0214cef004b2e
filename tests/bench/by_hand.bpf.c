/* A handwritten BPF program that goes through the kernel's list of tasks: it makes WALK steps and adds up the tasks'
 * numbers. Scripts with C are compared with it. */
typedef unsigned int u32;
typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct list_head {
    struct list_head* next;
};
struct task_struct {
    struct list_head tasks;
    int pid;
};
#pragma clang attribute pop

static struct task_struct* (*const bpf_get_current_task_btf)(void) = (void*)158;
static long (*const bpf_probe_read_kernel)(void* to, u32 size, const void* from) = (void*)113;

u64 sum;

SEC("uprobe") int walk(void* context) {
    (void)context;
    struct task_struct* task = bpf_get_current_task_btf();
    const u64 place = __builtin_preserve_field_info(task->tasks, 0 /* BPF_FIELD_BYTE_OFFSET */);
    u64 pids = 0;
    for (int i = 0; i < WALK; i++) {
        struct list_head* next = 0;
        int pid = 0;
        bpf_probe_read_kernel(&next, sizeof next, &task->tasks.next);
        task = (struct task_struct*)((u64)next - place);
        bpf_probe_read_kernel(&pid, sizeof pid, &task->pid);
        pids += (u32)pid;
    }
    sum += pids;
    return 0;
}

char _license[] SEC("license") = "GPL";
