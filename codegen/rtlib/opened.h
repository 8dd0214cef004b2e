/* Finds files and tasks that the session has opened: this is how the session tells the kernel side which file or task
 * it means.
 *
 * The session opens a file or a folder in /proc, and passes the number of the descriptor to a BPF program that runs in
 * its own context. The program follows the kernel's structures from there:
 *
 *     task->files->fdt->fd[number]->f_inode                      a file
 *     the same, then proc_inode->pid->tasks[0]                   a task, by its folder in /proc
 *
 * A path or a process number would be ambiguous: paths depend on the mount namespace, and numbers on the PID namespace.
 * An open descriptor is not. */
#pragma once

#include "kernel_task.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct hlist_head {
    struct hlist_node* first;
};
struct pid {
    struct hlist_head tasks[4];
};
struct proc_inode {
    struct pid* pid;
    struct inode vfs_inode;
};
struct fdtable {
    struct file** fd;
};
struct files_struct {
    struct fdtable* fdt;
};
#pragma clang attribute pop

/* The inode of the current process' descriptor `fd`. */
static inline struct inode* opened_inode(u64 fd) {
    struct task_struct* self = bpf_get_current_task();
    struct files_struct* files = 0;
    struct fdtable* table = 0;
    struct file **entries = 0, *file = 0;
    struct inode* inode = 0;
    READ(files, self->files);
    READ(table, files->fdt);
    READ(entries, table->fd);
    bpf_probe_read_kernel(&file, sizeof file, entries + fd);
    READ(inode, file->f_inode);
    return inode;
}

/* The task whose folder in /proc was opened; null if it is gone. */
static inline struct task_struct* opened_task(u64 fd) {
    struct proc_inode* inode = (void*)((u64)opened_inode(fd) - OFFSET(proc_inode, vfs_inode));
    struct pid* pid = 0;
    struct hlist_node* link = 0;
    READ(pid, inode->pid);
    READ(link, pid->tasks[0].first);
    return link ? (void*)((u64)link - OFFSET(task_struct, pid_links)) : 0;
}
