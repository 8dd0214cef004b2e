/* Performance counters that handlers read. Each processor counts separately. The difference while a thread runs
 * belongs to the thread. */
#pragma once

enum { SONDE_COUNTERS = 16 }; /* maximum for a script */

struct sonde_counted {
    unsigned long long last; /* the processor's counter when the current thread began to run */
};
