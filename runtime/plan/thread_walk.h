/* The stack of a thread that runs elsewhere, or not at all.
 *
 * The problem: a handler can unwind the stack of the current task only, because a BPF program reads the memory of the
 * process in whose context it runs. A thread that waits never runs a handler.
 *
 * The idea: the routines for user stacks (codegen/rtlib) are C, and are compiled for the session's process, too. There
 * they read the thread's memory by process_vm_readv(2), which neither stops nor changes the thread. The program
 * sonde_ask_thread copies the parts of the kernel's structures that they need (struct sonde_thread).
 *
 *     sonde_ask_thread      registers at the kernel's entry, thread pointer, number of switches
 *     sonde_walk_thread()   the same unwinder and the same language runtimes as in handlers
 *     sonde_ask_thread      if the thread has run meanwhile, the stack is not valid
 *
 * C, because codegen/rtlib and the runtime share it. */
#ifndef SONDE_THREAD_WALK_H
#define SONDE_THREAD_WALK_H

#include "stack.h"

enum { SONDE_THREAD_WORDS = 40, SONDE_THREAD_AUXILIARY = 32 };
/* A thread at one moment. The map `sonde_thread` has one element. */
struct sonde_thread {
    unsigned long long is_there;                      /* 0: the thread is gone */
    unsigned long long process, thread;               /* numbers in the initial PID namespace */
    unsigned long long registers[SONDE_THREAD_WORDS]; /* struct pt_regs with which it entered the kernel */
    unsigned long long thread_pointer, flags, clear_child_tid, exec_id;
    unsigned long long memory; /* address of its mm_struct; 0: it has none */
    unsigned long long start_code, code_pages, task_size, auxiliary[SONDE_THREAD_AUXILIARY]; /* of mm_struct */
    unsigned long long runs;        /* 1: it is on a processor, so its registers are not those in memory */
    unsigned long long switches;    /* how often it has left a processor */
    unsigned long long state;       /* of task_struct: 0 for a thread that can run */
    unsigned long long exited;      /* exit_state of task_struct */
    unsigned long long arrival;     /* when it got its last processor, by the scheduler's clock; in nanoseconds */
    unsigned long long own_arrival; /* the same for the asking thread */
};

/* The registers of a function that a walk has found. */
struct sonde_walked_function {
    unsigned long long cfa;                        /* 0: unknown */
    unsigned long long known;                      /* one bit for each valid register */
    unsigned long long registers[SONDE_REGISTERS]; /* in the order of struct pt_regs */
    unsigned long long is_native;                  /* 0: a function of a language runtime */
};
/* A table of a file, as handlers have it. */
struct sonde_walk_table {
    const unsigned long long* words;
    unsigned long long count;
};
/* These replace the maps that handlers use as caches. */
struct sonde_walk_caches {
    struct sonde_rules rules;
    struct sonde_frame_cache frames;
    struct sonde_python_cache python;
};
/* A walk. The caller fills the members up to `caches`. All functions get `context`. */
struct sonde_thread_walk {
    const struct sonde_thread* thread;
    unsigned long long most; /* the largest number of addresses, at most SONDE_STACK_MOST */
    void* context;
    /* Copies the thread's memory. Returns 0, or another number if a part of it cannot be read. */
    int (*read)(void* context, void* to, unsigned size, unsigned long long address);
    /* Fills `found` with the mapping at an address. Returns 0 if nothing is mapped there. */
    int (*find_mapping)(void* context, unsigned long long address, struct sonde_found* found);
    /* Returns the table of a file, or null if the file has no table. */
    const struct sonde_walk_table* (*find_table)(void* context, unsigned long long inode);
    /* Returns the facts about an interpreter (struct sonde_NAME), or an element of `sonde_frame_names`; null if the
     * element does not exist. */
    const void* (*find_interpreter)(void* context, unsigned language, unsigned element);
    struct sonde_interpreted_name* (*find_name)(void* context, unsigned number);
    struct sonde_walk_caches* caches;
    struct sonde_stacks stacks;                               /* the result: `user` */
    struct sonde_walked_function functions[SONDE_STACK_MOST]; /* of the addresses of `stacks.user` */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Unwinds the stack of a thread, which must not run meanwhile. Only one walk can run at a time. */
void sonde_walk_thread(struct sonde_thread_walk* walk);
#ifdef __cplusplus
}
#endif

#endif
