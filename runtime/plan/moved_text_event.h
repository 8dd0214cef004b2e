/* Communication between the kernel's program at mprotect() and mremap(), and the session (codegen/rtlib/moved.bpf.c,
 * runtime/attach/moved_text.h). Shared, so it is C. */
#pragma once

/* Values of the map maps::moved. The key is the process. With SONDE_MOVED_BEGINS, the element says that the process is
 * at its first instruction. Addresses are those of the process. */
enum { SONDE_MOVED_BEGINS = 1 << 30 }; /* more than the highest process ID */
struct sonde_moved {
    unsigned long long state;      /* enum sonde_moved_state */
    unsigned long long code;       /* start of the program's code */
    unsigned long long from, size; /* the copy; not used with SONDE_MOVED_BEGINS */
    unsigned long long to;         /* the address at which the copy will run */
};
enum sonde_moved_state {
    SONDE_MOVED_WAITS = 1, /* the process waits in the handler for the session */
    SONDE_MOVED_TAKEN = 2, /* it waits, and the session does what it waits for */
    SONDE_MOVED_RUNS = 3,  /* the session has repaired the copy, or follows the process; the handler deletes this */
    /* The session took too long. The process has got SIGSTOP. At its first instruction it has got it only if the
     * session had taken it; otherwise it runs although it is not followed yet. The session deletes this. */
    SONDE_MOVED_TIMED_OUT = 4,
};
/* Maximum time in nanoseconds that a process waits. It is the shorter one if a waiting handler holds a lock that the
 * session may need, unless the process is at its first instruction and the session has not answered yet. */
#define SONDE_MOVED_MOST_NS 5000000000ull
#define SONDE_MOVED_MOST_WITH_LOCK_NS 1000000000ull

/* The program's cookie: where it is attached, and whether its handler holds a lock. */
enum { SONDE_AT_MPROTECT = 1, SONDE_AT_MREMAP = 2, SONDE_AT_BEGIN = 3, SONDE_HOLDS_LOCK = 4 };
