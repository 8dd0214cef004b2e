/* Rare steps of a hit, shared by all handlers so that these stay small. */
#include "rt.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;

extern u8 sonde_counts; /* a map, defined by the script's module */

enum { COUNTS = 6 }; /* words of plan::ProbeCounts */

/* Adds 1 to one of the probe's counts and returns the old value. */
ONCE u64 sonde_rt_count(u64 probe, u64 field)
{
    u32 index = (u32)probe;
    u64* counts = bpf_map_lookup_elem(&sonde_counts, &index);
    if (!counts || field >= COUNTS)
        return 0;
    return __sync_fetch_and_add(counts + field, 1);
}

enum { MORE_TRIES = 7 };

/* Claims the first free slot of those after `first`, which is busy. Returns null if the next ones are busy, too. */
RT u64* sonde_rt_claim(void* map, u64 first, u64 slots)
{
#pragma clang loop unroll(full)
    for (u32 i = 1; i <= MORE_TRIES; i++) {
        u32 index = ((u32)first + i) % (u32)slots;
        u64* word = bpf_map_lookup_elem(map, &index);
        if (word && __sync_val_compare_and_swap(word, 0, 1) == 0)
            return word;
    }
    return 0;
}
