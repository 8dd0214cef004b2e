/* The session's state at the start of the data area. The scalar globals follow.
 *
 * In the kernel, the data area is the variable `sonde_data` in the BPF object's `.bss`, which the runtime maps into its
 * memory. A script without handlers in the kernel has it in ordinary memory. Shared with codegen/rtlib, so it is C. */
#pragma once

#include <stdint.h>

enum sonde_session_state { SONDE_ARMING = 0, SONDE_RUNNING = 1, SONDE_STOPPING = 2 };

struct sonde_session_words {
    uint64_t state;             /* sonde_session_state */
    int64_t realtime_offset_ns; /* CLOCK_REALTIME minus the kernel's CLOCK_MONOTONIC when the session began */
    int64_t tai_offset_ns;      /* CLOCK_TAI minus CLOCK_REALTIME: whole seconds, kept up to date */
    int64_t target;             /* target() */
    uint64_t errors;            /* number of soft errors */
    uint64_t max_errors;        /* maximum number of errors; a handler that exceeds it ends the session */
    uint64_t insertion;         /* number of the next insertion into an array */
    uint64_t max_action;        /* maximum number of statements in one run of a handler */
    int64_t zero;               /* always 0, but unknown to the verifier */
    uint64_t skipped;           /* hits without free scratch memory, or without the lock */
    uint64_t hz;                /* HZ() */
    uint64_t page_size;         /* mem_page_size(), in bytes */
    int64_t seconds_west;       /* tz_gmtoff() */
    char zone[16];              /* tz_name() */
    char module_size[80];       /* module_size() */
    uint64_t uid;               /* user id of the session */
    uint64_t asked_file;        /* result of the program sonde_ask_file */
    uint64_t counters;          /* number of Plan::counters */
    uint64_t pid;               /* the session's process */
    uint64_t lost_tasks;        /* tasks for which `sonde_tasks` had no room */
    uint64_t joined;            /* how often the command was seen to begin */
    uint64_t ending_task;       /* address of the thread that ended the session and may still run handlers, or 0 */
    /* A host handler ends when it has fewer statements left than this. Usually 0. To end the handler, it is set above
     * the maximum. */
    uint64_t least_action;
};
