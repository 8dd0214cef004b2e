/* Arrays that wrap: when the array is full, a new element replaces the oldest one (codegen/rtlib/wrap.bpf.c,
 * runtime/values/host_arrays.cc).
 *
 * The problem: a BPF hash map does not know which element is the oldest, and searching all elements at each insertion
 * would be too slow.
 *
 * The idea: elements have numbers in the order of insertion. A second map, ARRAY_order, is a ring: slot n modulo its
 * size has the key of element n. It has at least twice as many slots as the array has elements. So the oldest element's
 * key is in the first used slot after the last evicted one. A slot is outdated if its element was deleted, or was
 * inserted again: then the element has another number than the slot.
 *
 * An element can survive until its slot is needed again, if many other elements were deleted meanwhile. Then the
 * element is "unlisted". Unlisted elements are older than all others. While they exist, a search of the whole array
 * finds the oldest.
 *
 * A slot consists of a u64 number, which is 0 while the slot is being written, and the key. The slot is written before
 * the element gets its number, so each number has a slot. */
#pragma once

/* In the data area at plan::Global::offset. */
struct sonde_wrap {
    unsigned long long newest;   /* the last assigned number */
    unsigned long long passed;   /* all slots up to this number are unused, except for unlisted elements */
    unsigned long long unlisted; /* 1: unlisted elements may exist */
};

/* The suffix of the second map's name. */
#define SONDE_WRAP_ORDER "_order"
/* The number of slots for an array of this capacity: a power of two. */
static inline unsigned int sonde_wrap_places(unsigned long long capacity) {
    unsigned int places = 2;
    while (places < 2 * capacity && places < 1u << 31)
        places *= 2;
    return places;
}

/* Read-only data, like sonde_scan_spec. */
struct sonde_wrap_spec {
    unsigned long long key_size;
    unsigned long long places; /* a power of two */
};
