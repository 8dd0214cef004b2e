/* What the routines build on: one source, two targets.
 *
 * A string is NUL-terminated memory. A slot is a buffer of 2 * sonde_rt_max + 64 bytes, so that a write of the constant
 * size sonde_rt_max at an offset masked to sonde_rt_max - 1 is always inside: the verifier sees constant bounds.
 * sonde_rt_max is MAXSTRINGLEN, a power of two, defined as a constant by the module that a script becomes; it folds
 * when the module is linked.
 *
 * On BPF, loops over bytes are bpf_loop() callbacks: the verifier looks at one iteration instead of all (5.17, bpf: Add
 * bpf_loop helper).
 *
 * ONCE routines are BPF's global functions: the verifier checks each of them once, whoever calls it and how often, and
 * knows nothing of what it gives back. It goes by the parameters' types (5.13, bpf: Support pointers in global func
 * args): numbers, and structures to read and write, or null. RT routines it checks with what each caller passes, so
 * these may take anything.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

extern const u32 sonde_rt_max;      /* MAXSTRINGLEN */
extern const u8 sonde_rt_zeros[];   /* at least sonde_rt_max NULs, and as many as the largest array value */
extern const u8 sonde_rt_blanks[];  /* sonde_rt_max blanks and a NUL */
extern const u8 sonde_rt_noughts[]; /* the same of the digit 0 */

#define MASK (sonde_rt_max - 1)
/* Steps of a search that may begin anew at each character; bpf_loop() takes no more than 2^23. */
#define PAIRS (sonde_rt_max < 2896 ? sonde_rt_max * sonde_rt_max : 1u << 23)
/* A slot as a parameter of a ONCE routine; codegen gives the type the size that slots have. */
struct sonde_slot {
    u8 text[1];
};
#define NEED(slot)                                                                                                     \
    do {                                                                                                               \
        if (!(slot))                                                                                                   \
            return 0;                                                                                                  \
    } while (0)

/* 64 bytes after a slot's string and its slack. What lies in map memory the verifier does not know: nothing there
 * makes one of its states differ from another. */
#define SCRATCH(slot) ((slot) + 2 * sonde_rt_max)

/* The smaller one of a and MASK, without a branch: the verifier would go on from both sides of it, for every string
 * that a handler puts together. */
static inline u64 cut(u64 a) {
    s64 beyond = (s64)(a - MASK), sign = beyond >> 63;
    __asm__ volatile("" : "+r"(sign)); /* the compiler would make it a minimum, which is a branch again */
    return (MASK + (u64)(beyond & sign)) & MASK;
}

/* a & mask, also where the compiler knows that this changes nothing: it may know more of a script's number than the
 * verifier. */
static inline u64 masked(u64 a, u64 mask) {
    __asm__ volatile("" : "+r"(a));
    return a & mask;
}

/* 1 if a is less than b, else 0; both below 2^63. Without a branch, as above. */
static inline u64 below(u64 a, u64 b) {
    u64 less = a - b;
    __asm__ volatile("" : "+r"(less));
    return less >> 63;
}

/* 0, as the verifier cannot know it: the difference of something unknown and itself. */
static inline u64 unknown_zero(u64 unknown) {
    u64 same = unknown;
    __asm__ volatile("" : "+r"(same));
    return unknown - same;
}

#ifdef __bpf__
#define RT __attribute__((noinline, visibility("hidden")))
#define ONCE __attribute__((noinline, weak)) /* weak: the compiler may conclude no more than the verifier */
static long (*const bpf_probe_read_kernel)(void* dst, u32 size, const void* src) = (void*)113;
static long (*const bpf_probe_read_kernel_str)(void* dst, u32 size, const void* src) = (void*)115;
static long (*const bpf_loop)(u32 count, void* callback, void* context, u64 flags) = (void*)181;
/* Copies a string into size bytes; gives its length. Never fails for our own memory. */
static inline u64 copy_bounded(u8* dst, u32 size, const u8* src) {
    return (u64)(bpf_probe_read_kernel_str(dst, size, src) - 1) & MASK;
}
static inline void copy_bytes(u8* dst, u32 size, const u8* src) { bpf_probe_read_kernel(dst, size, src); }
#define LOOP(count, callback, context) bpf_loop(count, (void*)callback, context, 0)
/* x, as the verifier cannot know it. A loop whose counters it knows is checked once for every value; through memory of
 * a map, once. */
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

/* What C writes after a backslash for a character, or 0. A table: it has no branches for the verifier to follow. */
static inline u8 escape(u8 c) {
    static const u8 letters[256] = {['\n'] = 'n', ['\t'] = 't', ['\r'] = 'r', ['\a'] = 'a', ['\b'] = 'b',
                                    ['\v'] = 'v', ['\f'] = 'f', ['"'] = '"',  ['\\'] = '\\'};
    return letters[c];
}
