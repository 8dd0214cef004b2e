/* What the kernel knows of a task and its program, by CO-RE.
 *
 * Everything that is linked to one script must take a struct from here: where two definitions have one name, LLVM
 * takes the number of a member in one for that in the other. */
#pragma once

#include "pt_regs.h"
#include "rt.h"

#define READ(dst, src) bpf_probe_read_kernel(&(dst), sizeof(dst), __builtin_preserve_access_index(&(src)))

/* Where the kernel has a member, in bytes, and whether it has it. */
#define OFFSET(type, member) __builtin_preserve_field_info(((struct type*)0)->member, 0)
#define HAS(type, member) __builtin_preserve_field_info(((struct type*)0)->member, 2)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct inode {
    u64 i_ino;
    u32 i_flags, i_generation;
};
/* When a file was written last: as it is called since 6.11, since 6.7, before. */
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
struct mm_context {
    void* vdso; /* where the kernel's own code for programs is mapped, and which one it is */
    struct vdso_image* vdso_image;
};
struct vdso_image {
    void* data; /* an ELF file */
};
struct mm_struct {
    struct file* exe_file;
    struct mm_context context;
    u64 start_code, end_code; /* of the program */
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
/* A function that returns to a uretprobe, and to where it would without. */
struct return_instance {
    u64 stack, orig_ret_vaddr;
    struct return_instance* next;
};
struct uprobe_task {
    struct return_instance* return_instances; /* the newest */
    u32 depth;                                /* how many there are */
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
    u64 fsbase; /* x86-64: the thread pointer */
};
struct thread_info {
    u32 status;
};
struct task_struct {
    struct thread_info thread_info;
    u32 flags;
    s32 pid, tgid;
    struct mm_struct* mm;
    u64 self_exec_id; /* another one after each exec */
    struct task_struct* real_parent;
    const struct cred* cred;
    struct files_struct* files;
    struct hlist_node pid_links[4];
    struct signal_struct* signal;
    char comm[16];
    struct css_set* cgroups;
    struct uprobe_task* utask;
    struct thread_struct thread;
};
#pragma clang attribute pop

static struct task_struct* (*const bpf_get_current_task)(void) = (void*)35;
/* Loads through that are loads, where the other's need a helper. */
static struct task_struct* (*const bpf_get_current_task_btf)(void) = (void*)158;

/* 5.15, bpf: Add bpf_task_pt_regs() helper: the registers with which a task entered the kernel. */
static void* (*const bpf_task_pt_regs)(struct task_struct*) = (void*)175;

/* The kernel's half of the addresses. */
static inline int is_pointer(u64 value) { return (s64)value < 0; }

static inline int is_thread(struct task_struct* task) {
    s32 pid = 0, tgid = 0;
    READ(pid, task->pid);
    READ(tgid, task->tgid);
    return pid != tgid;
}

/* The inode of the file that the task's process runs; 0: it is the kernel's own, or ends. */
static inline u64 program_of(struct task_struct* task) {
    struct mm_struct* mm = 0;
    struct file* file = 0;
    struct inode* inode = 0;
    READ(mm, task->mm);
    READ(file, mm->exe_file);
    READ(inode, file->f_inode);
    return (u64)inode;
}

/* At the exit of the process' last thread: do_exit() counts a thread as gone before it says so. */
static inline int is_last(struct task_struct* task) {
    struct signal_struct* signal = 0;
    s32 live = 1;
    READ(signal, task->signal);
    return READ(live, signal->live.counter) == 0 && live == 0;
}
