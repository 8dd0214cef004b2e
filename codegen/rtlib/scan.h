/* The data of a foreach in a kernel handler, shared by generated code and routines.
 *
 * The spec is constant data, so the verifier knows its values in the callbacks. Data that changes is in the scan
 * area, which is map memory: struct sonde_scan_state, then a heap of `slots` u32 (padded to 8 bytes), then `slots`
 * entries. An entry is: u64 rank, u64 insertion number, the key, and, aligned to 8 bytes, the payload.
 *
 * If copies of all elements would be too large, entries are by reference: rank, insertion number, and the address of
 * the map's key of the element, which its value follows. After the entries follow one key with its payload (the visited
 * element) and two strings for comparisons. A visit looks up the key. It skips elements that were deleted meanwhile,
 * because their memory may belong to another element. */
#pragma once

enum sonde_scan_rank {
    SONDE_RANK_INSERTION, /* in the order of creation */
    SONDE_RANK_LONG,      /* by the int64 at `at` in key and payload */
    SONDE_RANK_INT,       /* by the int32 there */
    SONDE_RANK_UNSIGNED,  /* by the u32 there */
    SONDE_RANK_STRING,    /* by the string there */
    SONDE_RANK_STATISTIC, /* + hir::StatValue: by this value of the element's statistic */
};

/* The constant properties of a loop, a test or a deletion. The compiler fills it (codegen/bpf/arrays.cc, spec_of()). */
struct sonde_scan_spec {
    unsigned long long mask; /* bit i: component i of the key must equal the slice's; 0: every element */
    unsigned long long components;
    unsigned long long offsets[9], sizes[9]; /* of the components, in bytes */
    unsigned long long capacity;             /* maximum number of elements */
    unsigned long long slots;                /* the same, rounded up to a power of two */
    unsigned long long key_size;
    unsigned long long copy_size; /* bytes of the payload in an entry */
    unsigned long long rank;      /* sonde_scan_rank */
    unsigned long long at;        /* offset from the key's beginning */
    unsigned long long descending;
    unsigned long long by_reference;
    unsigned long long quantiles_at; /* offset of the buckets for percentiles in the element's statistic */
    unsigned long long percentile;   /* in millionths */
    unsigned long long key_at;       /* offset of the key in the element's value; 0: it is the map's key */
};

/* On the handler's stack; never changed after it is filled. */
struct sonde_scan {
    unsigned char* area;
    const unsigned char* slice; /* a key, or null */
    const struct sonde_scan_spec* spec;
};

/* The progress of a scan. It is in map memory, so that the verifier does not know the values. */
struct sonde_scan_state {
    unsigned long long live; /* elements in the heap */
    unsigned long long left; /* remaining visits if there is a limit */
    unsigned long long at;   /* position of the sinking element */
    unsigned long long end;  /* heapify: nodes that remain */
};

#define SONDE_SHORT_KEY 64  /* bytes of a key's component; a longer string has the maximum size */
#define SONDE_SCAN_ENTRY 16 /* bytes of an entry before its key */
#define SONDE_SCAN_REFERENCE (SONDE_SCAN_ENTRY + 8) /* bytes of an entry by reference */
#define SONDE_SCAN_KEY(size) (((size) + 7) & ~7ull) /* bytes of a key there */
