/* The set of processes that belong to the target (follow.bpf.c): an array of bits, by process number in the initial PID
 * namespace. Include it after bpf_map_lookup_elem is declared. */
#pragma once

extern u8 sonde_targets; /* the map, defined by the script's module */

static inline u64* word_of(u32 process) {
    u32 index = process / 64;
    return bpf_map_lookup_elem(&sonde_targets, &index);
}
static inline u64 bit_of(u32 process) { return 1ull << (process & 63); }

static inline int is_target(u32 process) {
    u64* word = word_of(process);
    return word && *word & bit_of(process);
}
