/* Communication between the kernel's programs and the session about processes with watchpoints
 * (codegen/rtlib/watch.bpf.c, runtime/attach/watchpoint.cc). Shared, so it is C. */
#ifndef SONDE_WATCH_EVENTS_H
#define SONDE_WATCH_EVENTS_H

/* Values of the map `sonde_families`. A family is a process that started a watched program, with all its descendants.
 * They inherit its watchpoints, which exist until the last member ends or executes another program. */
struct sonde_family {
    unsigned long long state;   /* enum sonde_family_state */
    unsigned long long members; /* number of processes */
};
enum sonde_family_state {
    SONDE_FAMILY_WAITS = 1, /* its first process waits for the watchpoints, at the program's first instruction */
    SONDE_FAMILY_RUNS = 2,
    SONDE_FAMILY_LEFT = 3, /* its first process has stopped waiting after SONDE_WATCH_MOST_NS */
};
/* Records of the ring buffer `sonde_watches`. */
struct sonde_watch_event {
    unsigned long long family;
    unsigned long long entry; /* address of the program's first instruction; 0: the family has ended */
    unsigned int process;     /* 0: not in the session's PID namespace */
    unsigned int program;     /* the cookie of the uprobe at the program's first instruction */
};
/* A key of `sonde_families` that is not a family: its `members` counts records that had no room in `sonde_watches`. */
enum { SONDE_FAMILY_UNTOLD = 0 };
/* Maximum time in nanoseconds that a process waits. */
#define SONDE_WATCH_MOST_NS 1000000000ull

#endif
