/* Communication between the kernel's program at mprotect() and mremap() and the session (codegen/rtlib/moved.bpf.c,
 * runtime/attach/moved_text.h). Shared, so it is C. */
#pragma once

/* Values of the map maps::moved, whose key is the process. Addresses are those of the process. */
struct sonde_moved {
    unsigned long long state;      /* enum sonde_moved_state */
    unsigned long long code;       /* start of the program's code */
    unsigned long long from, size; /* the copy */
    unsigned long long to;         /* the address at which the copy will run */
};
enum sonde_moved_state {
    SONDE_MOVED_WAITS = 1, /* the process waits in the handler until the session has repaired the copy */
    SONDE_MOVED_RUNS = 2,  /* the copy is repaired; the handler deletes the element */
    SONDE_MOVED_STOPPED =
        3, /* the session did not answer; the process has got SIGSTOP; the session deletes the element */
};
/* Maximum time in nanoseconds that a process waits. */
#define SONDE_MOVED_MOST_NS 1000000000ull

/* The program's cookie, which tells the two functions apart. */
enum { SONDE_AT_MPROTECT = 1, SONDE_AT_MREMAP = 2 };
