/* Copies saved entry values to forked children (fork.bpf.c). */
#pragma once

enum { SONDE_SAVERS = 4096 }; /* slots for threads that have saved something, by their numbers; threads can share one */

/* A fork whose child must get copies of saved values. */
struct sonde_fork {
    unsigned long long parent, child; /* in the format of bpf_get_current_pid_tgid() */
    unsigned long long stack;         /* the parent's stack pointer */
};
