/* What a foreach in a kernel handler walks: shared by the code that is generated for a loop and by the routines.
 *
 * The spec is constant data: the verifier knows its members in the callbacks as the numbers that they are. What changes
 * is in the scan area, memory of a map: struct sonde_scan_state, then a heap of `slots` u32 (a multiple of 8 bytes in
 * all), then `slots` entries of u64 rank, u64 insertion, the key and from a multiple of 8 bytes on the payload.
 *
 * Where copies of all elements would take too much, entries are by reference: rank, insertion, and the address of the
 * element's key in the map's memory. After them come one key with its payload, the visited element's, and two strings
 * for comparisons. A visit looks the key up: an element that was deleted since is passed over, as its memory may be
 * another's.
 */
#pragma once

enum sonde_scan_rank {
    SONDE_RANK_INSERTION, /* as the elements were created */
    SONDE_RANK_LONG,      /* by the int64 at `at` in key and payload */
    SONDE_RANK_INT,       /* by the int32 there */
    SONDE_RANK_UNSIGNED,  /* by the u32 there */
    SONDE_RANK_STRING,    /* by the string there */
    SONDE_RANK_STATISTIC, /* + hir::StatValue: by that of the element's statistic */
};

struct sonde_scan_spec {
    unsigned long long mask; /* bit i: component i of the key must be the slice's; 0: every element */
    unsigned long long components;
    unsigned long long offsets[9], sizes[9]; /* of the components, in bytes */
    unsigned long long capacity;             /* elements of the array at most */
    unsigned long long slots;                /* the same, or the next power of two */
    unsigned long long key_size;
    unsigned long long copy_size; /* bytes of the payload that an entry keeps */
    unsigned long long rank;      /* sonde_scan_rank */
    unsigned long long at;        /* offset from the key's begin */
    unsigned long long descending;
    unsigned long long by_reference;
    unsigned long long quantiles_at; /* in the element's statistic: its buckets for percentiles */
    unsigned long long percentile;   /* in millionths */
};

/* On the handler's stack, and never written after it was filled. */
struct sonde_scan {
    unsigned char* area;
    const unsigned char* slice; /* a key, or null */
    const struct sonde_scan_spec* spec;
};

struct sonde_scan_state {
    unsigned long long live; /* elements in the heap */
    unsigned long long left; /* visits that the limit still allows */
    unsigned long long at;   /* where an element is sinking */
    unsigned long long end;  /* heapify: the nodes before this one remain */
};

#define SONDE_SHORT_KEY 64  /* bytes of a key's component; a string is no longer, or has the maximum's size */
#define SONDE_SCAN_ENTRY 16 /* bytes of an entry before its key */
#define SONDE_SCAN_REFERENCE (SONDE_SCAN_ENTRY + 8) /* bytes of an entry by reference */
#define SONDE_SCAN_KEY(size) (((size) + 7) & ~7ull) /* what a key takes there */
