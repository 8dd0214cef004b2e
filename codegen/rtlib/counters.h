/* Counters that handlers read: each processor counts for itself, and what it has counted while a thread ran is the
 * thread's. */
#pragma once

enum { SONDE_COUNTERS = 16 }; /* of a script at most */

struct sonde_counted {
    unsigned long long last; /* what the processor's counter was when its thread was switched to */
};
