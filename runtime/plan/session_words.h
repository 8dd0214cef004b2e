/* The session's words at the start of the data area; the rest of it holds the scalar globals.
 *
 * In the kernel it is the BPF object's `.bss` variable `sonde_data`, which the runtime maps into its memory; a script
 * without handlers there has it in plain memory. Shared with codegen/rtlib, so it is C. */
#pragma once

#include <stdint.h>

enum sonde_session_state { SONDE_ARMING = 0, SONDE_RUNNING = 1, SONDE_STOPPING = 2 };

struct sonde_session_words {
    uint64_t state;             /* sonde_session_state */
    int64_t realtime_offset_ns; /* CLOCK_REALTIME minus the kernel's CLOCK_MONOTONIC when the session began */
    int64_t tai_offset_ns;      /* CLOCK_TAI minus CLOCK_REALTIME: whole seconds, kept up to date */
    int64_t target;             /* target() */
    uint64_t errors;            /* soft errors so far */
    uint64_t max_errors;        /* more errors than that end the session (the kernel's side sets the state itself) */
    uint64_t insertion;         /* number of the next array element's insertion */
    uint64_t max_action;        /* statements that one handler invocation may run */
    int64_t zero;               /* always 0, which the verifier cannot know */
    uint64_t skipped;           /* hits that found no scratch memory or no lock */
    uint64_t hz;                /* HZ() */
    int64_t seconds_west;       /* tz_gmtoff() */
    char zone[16];              /* tz_name() */
    char module_size[80];       /* module_size() */
    uint64_t uid;               /* of who runs the session */
    uint64_t asked_file;        /* what the program sonde_ask_file answers */
    uint64_t counters;          /* of Plan::counters */
    uint64_t pid;               /* the session's process */
    uint64_t lost_tasks;        /* tasks that found no room in `sonde_tasks` */
    uint64_t joined;            /* times that the command was seen to begin */
    uint64_t ending_task;       /* the kernel's address of the thread whose hit, which ended the session, may still lead
                                   to handlers, or 0 */
    /* A host handler ends where fewer statements than that are left to it: 0, or when it is to end, more than it has.
     */
    uint64_t least_action;
};
