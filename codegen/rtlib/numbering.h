/* A task's numbers in the session's PID namespace; 0 if it has no number there.
 *
 * A task has one number in its own namespace, and one in each namespace above. They are in an array at the end of
 * struct pid, indexed by the namespace's level. The offsets are constants that the runtime stores before loading
 * (runtime/plan/numbering.h), because this code must also run on kernels without BTF. */
#pragma once

#include "rt.h"

#include "../../runtime/plan/numbering.h"

extern const volatile struct sonde_numbering sonde_numbering; /* defined by the script's module */

static inline u64 word_at(u64 address) {
    u64 word = 0;
    bpf_probe_read_kernel(&word, sizeof word, (void*)address);
    return word;
}
static inline s32 number_of(u64 pid) {
    u32 depth = 0;
    s32 number = 0;
    if (!pid)
        return 0;
    bpf_probe_read_kernel(&depth, sizeof depth, (void*)(pid + sonde_numbering.depth));
    if (depth < sonde_numbering.level)
        return 0;
    u64 own = pid + sonde_numbering.numbers + sonde_numbering.level * sonde_numbering.number_size;
    if (word_at(own + sonde_numbering.number_space) != sonde_numbering.space)
        return 0;
    bpf_probe_read_kernel(&number, sizeof number, (void*)(own + sonde_numbering.number));
    return number;
}
static inline s32 thread_number(u64 task) { return number_of(word_at(task + sonde_numbering.thread_pid)); }
static inline s32 process_number(u64 task) {
    u64 signal = word_at(task + sonde_numbering.signal);
    return signal ? number_of(word_at(signal + sonde_numbering.pids + 8 * SONDE_PROCESS)) : 0;
}
