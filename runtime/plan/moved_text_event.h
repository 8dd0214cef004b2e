/* What the program at mprotect() and mremap() tells the session (codegen/rtlib/moved.bpf.c): the map `sonde_moved`, by
 * the process. Shared with codegen/rtlib, so it is C. Addresses are the process' own. */
#pragma once

#define SONDE_MOVED_PROGRAM "sonde_text_moves"
#define SONDE_MOVED_MAP "sonde_moved"
/* Which function the program is at: its cookie. */
enum { SONDE_AT_MPROTECT = 1, SONDE_AT_MREMAP = 2 };

struct sonde_moved {
    unsigned long long code;       /* where the program's code begins */
    unsigned long long from, size; /* the copy */
    unsigned long long to;         /* where it will run */
};
