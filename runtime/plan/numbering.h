/* Process numbers as the session's PID namespace has them.
 *
 * A process has a number in its own PID namespace and in each one above, and the kernel's side of sonde keeps processes
 * by those of the initial namespace: nobody else can have them. What scripts and the session see are the numbers of the
 * session's namespace. The runtime fills this in before programs are loaded (runtime/processes/process_numbers.h): the
 * verifier knows it for a constant, and in the initial namespace nothing is left of what translates.
 *
 * Shared with codegen/rtlib, so it is C. Offsets are in bytes. */
#pragma once

struct sonde_numbering {
    unsigned long long level; /* of the session's namespace, below the initial one; 0: it is the initial one */
    unsigned long long space; /* its address in the kernel */
    /* task_struct, signal_struct, struct pid, struct upid */
    unsigned long long signal, thread_pid, pids, depth, numbers, number_size, number, number_space;
};

#define SONDE_NUMBERING_SECTION ".rodata.numbering"
enum sonde_pid_kind { SONDE_PROCESS = 1, SONDE_GROUP = 2, SONDE_SESSION = 3 }; /* include/linux/pid_types.h */
