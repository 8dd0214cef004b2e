/* What handlers and the session tell each other about processes whose memory is watched. C: shared by codegen/rtlib
 * (watch.bpf.c) and the runtime (watchpoint.cc). */
#ifndef SONDE_WATCH_EVENTS_H
#define SONDE_WATCH_EVENTS_H

/* The map `sonde_families`, by the family's number: a process that began with a watched program, and what it and its
 * children fork. They inherit its watchpoints, which are there as long as one of them runs that program. */
struct sonde_family {
    unsigned long long state;   /* enum sonde_family_state */
    unsigned long long members; /* processes */
};
enum sonde_family_state {
    SONDE_FAMILY_WAITS = 1, /* at the program's first instruction, for its watchpoints */
    SONDE_FAMILY_RUNS = 2,
    SONDE_FAMILY_LEFT = 3, /* it has waited for as long as it may */
};
/* Records of the ring `sonde_watches`. */
struct sonde_watch_event {
    unsigned long long family;
    unsigned long long entry; /* where the program's first instruction is; 0: the family has ended */
    unsigned int process;     /* 0 where the session's PID namespace does not have it */
    unsigned int program;     /* the cookie that the session gave the program */
};
/* The number in `sonde_families` of no family: `members` counts those that the session could not be told of. */
enum { SONDE_FAMILY_UNTOLD = 0 };
/* Nobody waits for longer. */
#define SONDE_WATCH_MOST_NS 1000000000ull

#endif
