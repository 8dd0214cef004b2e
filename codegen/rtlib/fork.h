/* Copying saved entry values to forked children (fork.bpf.c). */
#pragma once

enum { SONDE_SAVERS = 4096 }; /* places for threads that have saved something, by their numbers; some share one */

struct sonde_fork {
    unsigned long long parent, child; /* as bpf_get_current_pid_tgid() gives them */
    unsigned long long stack;         /* the parent's stack pointer */
};
