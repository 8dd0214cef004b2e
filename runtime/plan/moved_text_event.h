/* Communication between the kernel's program at the functions that change mappings, and the session
 * (codegen/rtlib/moved.bpf.c, runtime/attach/moved_text.h). Shared, so it is C. */
#pragma once

/* Values of the map maps::moved. The key is the thread. With SONDE_MOVED_BEGINS, the element says that the process is
 * at its first instruction. Addresses are those of the process. */
enum { SONDE_MOVED_BEGINS = 1 << 30 }; /* more than the highest process ID */
struct sonde_moved {
    unsigned long long state;      /* enum sonde_moved_state */
    unsigned long long at;         /* enum sonde_moved_place */
    unsigned long long process;    /* of the thread, in the initial PID namespace */
    unsigned long long code;       /* start of the program's code */
    unsigned long long from, size; /* the memory; not used with SONDE_MOVED_BEGINS */
    unsigned long long to;         /* the address at which the memory will run */
    /* The memory will be the program's code, which may contain breakpoints that would end the process. Other new code
     * is rarely a copy: a program with a compiler must not be stopped because the session is. */
    unsigned long long is_text;
};
enum sonde_moved_state {
    SONDE_MOVED_WAITS = 1, /* the thread waits in the handler for the session */
    SONDE_MOVED_TAKEN = 2, /* it waits, and the session does what it waits for */
    SONDE_MOVED_RUNS = 3,  /* the session has repaired the memory, or follows the process; the handler deletes this */
    /* The session took too long. The thread goes on, and the session deletes this. The process has got SIGSTOP if
     * `is_text` is set. At its first instruction it has got it only if the session had taken it. */
    SONDE_MOVED_TIMED_OUT = 4,
};
/* Maximum time in nanoseconds that a thread waits. It is the shorter one if a waiting handler holds a lock that the
 * session may need, unless the process is at its first instruction and the session has not answered yet. It is the
 * shortest one if the session has not answered, and `is_text` is not set. */
#define SONDE_MOVED_MOST_FOR_OTHERS_NS 500000000ull
#define SONDE_MOVED_MOST_NS 5000000000ull
#define SONDE_MOVED_MOST_WITH_LOCK_NS 1000000000ull

/* The program's cookie: where it is attached, and whether its handler holds a lock. The AFTER places are the
 * instructions after a system call. SONDE_AT_NO_CALL: the program does nothing; attaching it sets breakpoints again
 * that a process has dropped. */
enum sonde_moved_place {
    SONDE_AT_MPROTECT = 1,
    SONDE_AT_MREMAP = 2,
    SONDE_AT_BEGIN = 3,
    SONDE_AFTER_MPROTECT = 4,
    SONDE_AFTER_MMAP = 5,
    SONDE_AFTER_MADVISE = 6,
    SONDE_AT_NO_CALL = 7,
    SONDE_HOLDS_LOCK = 16
};
