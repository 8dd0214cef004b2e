// Parts with the names that scripts use beside the kernel's headers, and parts that need types of the kernel. These
// types must be found in BTF first, and each type makes compiling slower.
//
// A part begins with a line `//@ NAMES : TYPES`. A text gets the part if it uses one of the names. TYPES are names of
// kernel types that the part uses. `: closed` at the end: the names that the part uses select no other parts.
// clang-format off
//@ STAP_PRINTF _stp_printf _stp_print :
#define STAP_PRINTF(...)                                                                                               \
    do {                                                                                                               \
        char *text_ = sonde_mark_slot();                                                                                  \
        snprintf(text_, MAXSTRINGLEN, __VA_ARGS__);                                                                    \
        sonde___c_print(text_);                                                                                        \
    } while (0)
#define _stp_printf STAP_PRINTF
#define _stp_print(text) sonde___c_print(text)
//@ _stp_warn :
#define _stp_warn(...)                                                                                                 \
    do {                                                                                                               \
        char *text_ = sonde_mark_slot();                                                                                  \
        snprintf(text_, MAXSTRINGLEN, __VA_ARGS__);                                                                    \
        sonde___c_warn(text_);                                                                                         \
    } while (0)
//@ probe_point :
#define SONDE_PROBE_POINT .probe_point = sonde_pp(),
//@ user_mode_p :
#define SONDE_USER_MODE .user_mode_p = (int)sonde_user_mode(),
//@ CONTEXT : pt_regs task_struct mm : closed
#ifndef SONDE_PROBE_POINT
#define SONDE_PROBE_POINT
#endif
#ifndef SONDE_USER_MODE
#define SONDE_USER_MODE
#endif
struct sonde_context {
    const char *probe_point;
    struct pt_regs *uregs;
    int user_mode_p;
};
static inline struct pt_regs *sonde_uregs(void) {
    return current->mm ? (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()) : NULL;
}
#define CONTEXT (&(const struct sonde_context){SONDE_PROBE_POINT SONDE_USER_MODE.uregs = sonde_uregs()})
//@ get_cycles :
#define get_cycles() ((unsigned long)sonde_get_cycles())
//@ d_path : path
#define d_path(path, buffer, size) sonde___c_path((long)(path))
//@ find_task_by_vpid find_task_by_pid find_vpid find_get_pid pid_task get_pid_task : task_struct
#define find_task_by_vpid(number) ((struct task_struct *)sonde_pid2task(number))
#define find_task_by_pid find_task_by_vpid
//@ find_vpid find_get_pid pid_task get_pid_task : pid tasks first thread_pid pid_links hlist_head hlist_node pid_type PIDTYPE_PID
static inline struct pid *find_vpid(long number) {
    struct task_struct *task = find_task_by_vpid(number);
    return task ? task->thread_pid : NULL;
}
#define find_get_pid find_vpid
static inline struct task_struct *pid_task(struct pid *pid, int type) {
    char *first = pid ? (char *)pid->tasks[type & 3].first : NULL;
    return first ? (struct task_struct *)(first - offsetof(struct task_struct, pid_links) -
                                          (type & 3) * sizeof(struct hlist_node))
                 : NULL;
}
#define get_pid_task pid_task
//@ init_task : task_struct
extern struct task_struct init_task;
// The list of processes is a ring that also contains the first process.
//@ next_task for_each_process for_each_process_thread do_each_thread : task_struct tasks next
#define next_task(task) list_entry((task)->tasks.next, struct task_struct, tasks)
#define for_each_process(at)                                                                                           \
    for (struct task_struct *first_ = (at = (struct task_struct *)sonde_pid2task(1)); at;                              \
         at = next_task(at) == first_ ? NULL : next_task(at))                                                          \
        if (at->pid == 0) {                                                                                            \
        } else
//@ for_each_thread for_each_process_thread : task_struct signal signal_struct thread_head thread_node
#define for_each_thread(task, at) list_for_each_entry(at, &(task)->signal->thread_head, thread_node)
#define for_each_process_thread(task, at) for_each_process(task) for_each_thread(task, at)
//@ do_each_thread while_each_thread next_thread : task_struct signal signal_struct thread_head thread_node list_head next
static inline struct task_struct *next_thread(const struct task_struct *task) {
    struct list_head *head = &task->signal->thread_head, *next = task->thread_node.next;
    return list_entry(next == head ? head->next : next, struct task_struct, thread_node);
}
#define do_each_thread(task, at)                                                                                       \
    for_each_process(task) if (at = task, 0) {                                                                         \
    } else                                                                                                             \
        do
#define while_each_thread(task, at) while ((at = next_thread(at)) != task)
//@ per_cpu_ptr per_cpu this_cpu_ptr raw_cpu_ptr this_cpu_read raw_cpu_read __this_cpu_read get_cpu_var __get_cpu_var __per_cpu_offset :
extern unsigned long __per_cpu_offset[];
#define per_cpu_ptr(pointer, cpu)                                                                                      \
    ((__typeof__(pointer))((unsigned long)(pointer) + __per_cpu_offset[(unsigned)(cpu)]))
#define this_cpu_ptr(pointer) per_cpu_ptr(pointer, smp_processor_id())
#define raw_cpu_ptr this_cpu_ptr
#define per_cpu(variable, cpu) (*per_cpu_ptr(&(variable), cpu))
#define this_cpu_read(variable) (*this_cpu_ptr(&(variable)))
#define raw_cpu_read this_cpu_read
#define __this_cpu_read this_cpu_read
#define get_cpu_var this_cpu_read
#define __get_cpu_var this_cpu_read
//@ DECLARE_PER_CPU :
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name
//@ fcheck_files files_lookup_fd_rcu files_lookup_fd_raw files_fdtable : files_struct fdtable fdt fd max_fds file
#define files_fdtable(files) ((files)->fdt)
static inline struct file *fcheck_files(struct files_struct *files, unsigned int number) {
    struct fdtable *table = files->fdt;
    return number < table->max_fds ? table->fd[number] : NULL;
}
#define files_lookup_fd_rcu fcheck_files
#define files_lookup_fd_raw fcheck_files
//@ blk_rq_sectors blk_rq_bytes blk_rq_pos : request
#define blk_rq_bytes(request) ((request)->__data_len)
#define blk_rq_sectors(request) (blk_rq_bytes(request) >> 9)
#define blk_rq_pos(request) ((request)->__sector)
//@ SOCKET_I : socket_alloc socket inode vfs_inode
#define SOCKET_I(inode) (&container_of(inode, struct socket_alloc, vfs_inode)->socket)
