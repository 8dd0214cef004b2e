/* Arrays that wrap: which element is the oldest (codegen/rtlib/wrap.bpf.c, runtime/values/host_arrays.cc).
 *
 * Elements are numbered in the order of their insertion. A second map, MAP_order, has the key of the element with
 * number n at n modulo its size, at least twice the array's, so that who makes room finds the oldest element's key
 * after the last one that was evicted. Elements that were deleted, or inserted anew, are known there by their other
 * number. An element that outlives so many insertions that its place is needed (since other elements were deleted) is
 * unlisted: as long as there are such elements, which are older than all others, the oldest one is found by a walk.
 *
 * A place: u64 number, 0 while it is written, then the key. Every number that was drawn gets its place, before the
 * element gets the number. */
#pragma once

/* In the data area at plan::Global::offset. */
struct sonde_wrap {
    unsigned long long newest;   /* the last number that was drawn */
    unsigned long long passed;   /* places up to there have no element any more, but for the unlisted ones */
    unsigned long long unlisted; /* 1: there may be such */
};

/* The second map's name is the array's and this. */
#define SONDE_WRAP_ORDER "_order"
/* Places for an array of that many elements: a power of two. */
static inline unsigned int sonde_wrap_places(unsigned long long capacity) {
    unsigned int places = 2;
    while (places < 2 * capacity && places < 1u << 31)
        places *= 2;
    return places;
}

/* Constant data, as sonde_scan_spec. */
struct sonde_wrap_spec {
    unsigned long long key_size;
    unsigned long long places; /* a power of two */
};
