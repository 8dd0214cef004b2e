/* The kernel's structures for a task and its program, by CO-RE.
 *
 * All files that are linked into one script must use the structures of this header. If two definitions have the same
 * name, LLVM confuses the indices of their members. */
#pragma once

#include "../../arch/host/pt_regs.h"
#include "rt.h"

#ifdef __bpf__
#define READ(dst, src) bpf_probe_read_kernel(&(dst), sizeof(dst), __builtin_preserve_access_index(&(src)))

/* The offset of a member in bytes, and whether this kernel has the member. */
#define OFFSET(type, member) __builtin_preserve_field_info(((struct type*)0)->member, 0)
#define HAS(type, member) __builtin_preserve_field_info(((struct type*)0)->member, 2)
#else
/* In the session's process, the structures are copies that the session has made (elsewhere.c). */
#define READ(dst, src) ((dst) = (__typeof__(dst))(src), 0)
#define HAS(type, member) 0
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inode {
    u64 i_ino;
    u32 i_flags, i_generation;
};
/* The time of the last write to a file, under its names since 6.11, since 6.7, and before. */
struct timespec64 {
    s64 tv_sec, tv_nsec;
};
struct inode___split {
    s64 i_mtime_sec;
    u32 i_mtime_nsec;
};
struct inode___hidden {
    struct timespec64 __i_mtime;
};
struct inode___whole {
    struct timespec64 i_mtime;
};
struct qstr {
    const u8* name;
};
struct dentry {
    struct dentry* d_parent; /* the root's own */
    struct qstr d_name;
};
struct path {
    struct dentry* dentry;
};
struct file {
    struct inode* f_inode;
    struct path f_path;
};
struct mm_context {
    void* vdso; /* where the vDSO (kernel code for programs) is mapped, and which one it is */
    struct vdso_image* vdso_image;
};
struct vdso_image {
    void* data; /* an ELF file */
};
struct mm_struct {
    struct file* exe_file;
    struct mm_context context;
    u64 start_code, end_code; /* of the program */
    u64 task_size;            /* addresses of the program are below */
    u64 exec_vm;              /* pages of code */
    u64 saved_auxv[1];        /* pairs of numbers that the program got at its start (getauxval(3)) */
};
struct vm_area_struct {
    u64 vm_start, vm_end, vm_pgoff, vm_flags;
    struct file* vm_file;
    struct mm_struct* vm_mm;
};
struct files_struct;
struct hlist_node {
    struct hlist_node* next;
};
struct kuid {
    u32 val;
};
struct cred {
    struct kuid uid, gid, euid, egid;
};
struct counter {
    s32 counter;
};
struct signal_struct {
    struct counter live; /* threads that have not exited */
};
/* A function that returns to a uretprobe, and its original return address. */
struct return_instance {
    u64 stack, orig_ret_vaddr;
    struct return_instance* next;
};
struct uprobe_task {
    struct return_instance* return_instances; /* the newest */
    u32 depth;                                /* their number */
    void* active_uprobe;                      /* of the instruction that is single-stepped; or null */
    u64 vaddr, xol_vaddr;                     /* the instruction, and the copy that the processor executes */
};
struct kernfs_node {
    u64 id;
    const char* name;
};
struct cgroup_subsys_state {
    struct cgroup* cgroup;
    struct cgroup_subsys_state* parent;
};
struct cgroup_root {
    s32 hierarchy_id; /* 0: the unified one */
};
struct cgroup {
    struct cgroup_subsys_state self;
    struct kernfs_node* kn;
    struct cgroup_root* root;
};
struct css_set {
    struct cgroup* dfl_cgrp;
};
struct thread_struct {
    SONDE_THREAD_MEMBERS;
};
struct thread_info {
    u32 status;
};
struct task_struct {
    struct thread_info thread_info;
    u32 flags;
    s32 pid, tgid;
    s32 exit_code; /* of the whole process, as wait(2) has it, in its first thread */
    struct mm_struct* mm;
    u64 self_exec_id; /* changes at each exec */
    struct task_struct* real_parent;
    const struct cred* cred;
    struct files_struct* files;
    struct hlist_node pid_links[4];
    struct signal_struct* signal;
    char comm[16];
    struct css_set* cgroups;
    struct uprobe_task* utask;
    int* clear_child_tid;
    struct thread_struct thread;
};
#pragma clang attribute pop

static struct task_struct* (*const bpf_get_current_task)(void) = (void*)35;
/* Loads through this pointer are direct; loads through the other one need a helper. */
static struct task_struct* (*const bpf_get_current_task_btf)(void) = (void*)158;

/* The registers with which a task entered the kernel (5.15, bpf: Add bpf_task_pt_regs() helper). */
static void* (*const bpf_task_pt_regs)(struct task_struct*) = (void*)175;

/* Whether this is a kernel address. */
static inline int is_pointer(u64 value) { return (s64)value < 0; }

/* Whether this is a thread other than the first one of its process. */
static inline int is_thread(struct task_struct* task) {
    s32 pid = 0, tgid = 0;
    READ(pid, task->pid);
    READ(tgid, task->tgid);
    return pid != tgid;
}

/* The inode of the program that the task's process runs. 0 for kernel threads and exiting processes. */
static inline u64 program_of(struct task_struct* task) {
    struct mm_struct* mm = 0;
    struct file* file = 0;
    struct inode* inode = 0;
    READ(mm, task->mm);
    READ(file, mm->exe_file);
    READ(inode, file->f_inode);
    return (u64)inode;
}

/* Whether the last thread of the process exits. do_exit() decrements the counter before its tracepoint. */
static inline int is_last(struct task_struct* task) {
    struct signal_struct* signal = 0;
    s32 live = 1;
    READ(signal, task->signal);
    return READ(live, signal->live.counter) == 0 && live == 0;
}
