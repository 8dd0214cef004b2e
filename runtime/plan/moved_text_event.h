/* Records of the program at mprotect() and mremap() for the session (codegen/rtlib/moved.bpf.c). They are values of the
 * map maps::moved, whose key is the process. Addresses are those of the process. Shared with codegen/rtlib, so it is
 * C. */
#pragma once

/* The program's cookie, which tells the two functions apart. */
enum { SONDE_AT_MPROTECT = 1, SONDE_AT_MREMAP = 2 };

struct sonde_moved {
    unsigned long long code;       /* start of the program's code */
    unsigned long long from, size; /* the copy */
    unsigned long long to;         /* the address at which the copy will run */
};
