/* Offsets for translating process numbers to the session's PID namespace.
 *
 * A process has one number in its own PID namespace and in each namespace above. BPF programs use those of the initial
 * namespace as keys, because these are unique. Scripts and the session use the numbers of the session's namespace.
 *
 * The runtime fills this structure before programs are loaded (runtime/processes/process_numbers.h). It is read-only
 * data, so the verifier treats it as a constant. In the initial namespace, the verifier then removes the code that
 * translates.
 *
 * Shared with codegen/rtlib, so it is C. Offsets are in bytes. */
#pragma once

struct sonde_numbering {
    unsigned long long level; /* level of the session's namespace; 0: the initial namespace */
    unsigned long long space; /* address of the namespace in the kernel */
    /* Offsets in task_struct, signal_struct, struct pid and struct upid. */
    unsigned long long signal, thread_pid, pids, depth, numbers, number_size, number, number_space;
};

#define SONDE_NUMBERING_SECTION ".rodata.numbering"
enum sonde_pid_kind { SONDE_PROCESS = 1, SONDE_GROUP = 2, SONDE_SESSION = 3 }; /* include/linux/pid_types.h */
