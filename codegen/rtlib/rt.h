/* The basis of all routines, which are compiled for two targets.
 *
 * A string is memory that ends with a NUL. A slot is a buffer of 2 * sonde_rt_max + 64 bytes. A write of
 * sonde_rt_max bytes at an offset that is masked to sonde_rt_max - 1 is always inside of it, and the verifier can
 * check these constant bounds. sonde_rt_max is MAXSTRINGLEN, a power of two. The script's module defines it, and it
 * becomes a constant when the module is linked.
 *
 * On BPF, loops over bytes are callbacks of bpf_loop(): the verifier checks one iteration instead of all (5.17, bpf:
 * Add bpf_loop helper).
 *
 * ONCE routines are BPF's global functions. The verifier checks each of them once, for all callers, and knows
 * nothing about the result. It uses the parameters' types (5.13, bpf: Support pointers in global func args):
 * numbers, and structures that can be read and written, or null. The verifier checks RT routines for each caller
 * with that caller's values, so these may take any parameters. */
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

extern const u32 sonde_rt_max;      /* MAXSTRINGLEN */
extern const u8 sonde_rt_zeros[];   /* at least sonde_rt_max NULs, and as many as the largest array value */
extern const u8 sonde_rt_blanks[];  /* sonde_rt_max blanks and a NUL */
extern const u8 sonde_rt_noughts[]; /* the same with the digit 0 */

#define MASK (sonde_rt_max - 1)
/* The largest number of names in a table (codegen/lower/constant_texts.cc). */
enum { MOST_CELLS = 2047 };
/* Steps of a search that may start at each character; bpf_loop() allows at most 2^23. */
#define PAIRS (sonde_rt_max < 2896 ? sonde_rt_max * sonde_rt_max : 1u << 23)
/* The type of slots that are parameters of ONCE routines. codegen changes its size to that of the script's slots. */
struct sonde_slot {
    u8 text[1];
};
#define NEED(slot)                                                                                                     \
    do {                                                                                                               \
        if (!(slot))                                                                                                   \
            return 0;                                                                                                  \
    } while (0)

/* 64 bytes of scratch memory after a slot's string and its reserve. It is map memory, whose contents the verifier
 * does not track, so it does not make states differ. */
#define SCRATCH(slot) ((slot) + 2 * sonde_rt_max)

/* The smaller of a and MASK, without a branch. The verifier would follow both sides of a branch for every string
 * that a handler builds. */
static inline u64 cut(u64 a) {
    s64 beyond = (s64)(a - MASK), sign = beyond >> 63;
    __asm__ volatile("" : "+r"(sign)); /* otherwise the compiler emits a minimum, which is a branch */
    return (MASK + (u64)(beyond & sign)) & MASK;
}

/* a & mask, even if the compiler knows that this has no effect. The compiler may know more about a number than the
 * verifier. */
static inline u64 masked(u64 a, u64 mask) {
    __asm__ volatile("" : "+r"(a));
    return a & mask;
}

/* 1 if a is less than b, otherwise 0; both must be below 2^63. No branch, as above. */
static inline u64 below(u64 a, u64 b) {
    u64 less = a - b;
    __asm__ volatile("" : "+r"(less));
    return less >> 63;
}

/* A 0 that the verifier does not know: the difference of an unknown number and itself. */
static inline u64 unknown_zero(u64 unknown) {
    u64 same = unknown;
    __asm__ volatile("" : "+r"(same));
    return unknown - same;
}

#ifdef __bpf__
#define RT __attribute__((noinline, visibility("hidden")))
#define ONCE __attribute__((noinline, weak)) /* weak: the compiler may draw no more conclusions than the verifier */
static long (*const bpf_probe_read_kernel)(void* dst, u32 size, const void* src) = (void*)113;
static long (*const bpf_probe_read_kernel_str)(void* dst, u32 size, const void* src) = (void*)115;
static long (*const bpf_loop)(u32 count, void* callback, void* context, u64 flags) = (void*)181;
/* Copies a string, up to size bytes with the NUL, and returns its length. Never fails for our own memory. */
static inline u64 copy_bounded(u8* dst, u32 size, const u8* src) {
    return (u64)(bpf_probe_read_kernel_str(dst, size, src) - 1) & MASK;
}
static inline void copy_bytes(u8* dst, u32 size, const u8* src) { bpf_probe_read_kernel(dst, size, src); }
#define LOOP(count, callback, context) bpf_loop(count, (void*)callback, context, 0)
/* Returns x, unknown to the verifier. The verifier checks a loop once for each value of a counter that it knows, but
 * only once if the counter goes through map memory. */
static inline u64 opaque(void* slot, u64 x) {
    *(volatile u64*)slot = x;
    return *(volatile u64*)slot;
}
#else
#define RT
#define ONCE
static inline u64 copy_bounded(u8* dst, u32 size, const u8* src) {
    u64 n = 0;
    if (size == 0)
        return 0;
    while (n + 1 < size && src[n]) {
        dst[n] = src[n];
        n++;
    }
    dst[n] = 0;
    return n;
}
static inline void copy_bytes(u8* dst, u32 size, const u8* src) {
    for (u32 i = 0; i < size; i++)
        dst[i] = src[i];
}
static inline u64 opaque(void* slot, u64 x) {
    (void)slot;
    return x;
}
#define LOOP(count, callback, context)                                                                                 \
    do {                                                                                                               \
        u32 count_ = (count);                                                                                          \
        for (u32 i_ = 0; i_ < count_; i_++)                                                                            \
            if (callback(i_, context))                                                                                 \
                break;                                                                                                 \
    } while (0)
#endif

/* The letter that C writes after a backslash for this character, or 0. A table, because it needs no branches. */
static inline u8 escape(u8 c) {
    static const u8 letters[256] = {['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['\a'] = 'a', ['\b'] = 'b',
                                    ['\v'] = 'v', ['\f'] = 'f', ['"'] = '"',  ['\\'] = '\\'};
    return letters[c];
}
