/* What is read of the current task. One definition for all: relocations of linked modules are told apart by the
 * struct's name and the member's number only. */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kuid {
    unsigned int val;
};
struct cred {
    struct kuid euid, egid;
};
struct counter {
    int counter;
};
struct signal_struct {
    struct counter live; /* threads that have not exited */
};
/* A function that returns to a uretprobe, and to where it would without. */
struct return_instance {
    unsigned long long stack, orig_ret_vaddr;
    struct return_instance* next;
};
struct uprobe_task {
    struct return_instance* return_instances; /* the newest */
};
struct task_struct {
    int tgid;
    struct task_struct* real_parent;
    const struct cred* cred;
    struct signal_struct* signal;
    struct uprobe_task* utask;
};
#pragma clang attribute pop
