/* Communication between the kernel's program at mprotect() and mremap(), and the session (codegen/rtlib/moved.bpf.c,
 * runtime/attach/moved_text.h). Shared, so it is C. */
#pragma once

/* Values of the map maps::moved, whose key is the process. Addresses are those of the process. */
struct sonde_moved {
    unsigned long long state;      /* enum sonde_moved_state */
    unsigned long long code;       /* start of the program's code */
    unsigned long long from, size; /* the copy; 0: the program begins, and has not moved anything */
    unsigned long long to;         /* the address at which the copy will run */
};
enum sonde_moved_state {
    SONDE_MOVED_WAITS = 1,   /* the process waits in the handler for the session */
    SONDE_MOVED_RUNS = 2,    /* the session has repaired the copy, or follows the process; the handler deletes this */
    SONDE_MOVED_STOPPED = 3, /* the session did not answer; the process has got SIGSTOP; the session deletes this */
};
/* Maximum time in nanoseconds that a process waits. */
#define SONDE_MOVED_MOST_NS 1000000000ull

/* The program's cookie: where it is attached. */
enum { SONDE_AT_MPROTECT = 1, SONDE_AT_MREMAP = 2, SONDE_AT_BEGIN = 3 };
