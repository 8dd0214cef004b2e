/* Visits the elements of a hash map, for foreach with its order and for slices.
 *
 * The problem: bpf_for_each_map_elem() visits the elements in an order that means nothing to the script. The body of a
 * foreach may also delete elements and insert others, which must not disturb the loop. And a sort is a loop in a loop,
 * which the verifier would follow step by step.
 *
 * The idea: before the loop, collect() copies the elements to an area of the handler (scan.h). heapify() then makes a
 * heap of them: a binary tree in which no element comes before its parent. The children of node i are 2 * i + 1 and
 * 2 * i + 2. In each turn of the loop, the top of the heap is taken; the last node is moved there, and sinks to its
 * level. So a loop that ends after ten of 10,000 elements does not pay for a complete sort. The nodes are numbers of
 * entries: only these are moved, not the entries.
 *
 * Example: in `foreach (name in a+)`, with the elements x: 3, y: 1 and z: 2, the ranks are the values, and the heap is
 *
 *         y: 1                       z: 2
 *        /    \      next: y        /             next: z, then x
 *     x: 3    z: 2             x: 3
 *
 * Ranks are compared as unsigned numbers, so BIAS is added to signed ones. For a descending order, all bits of the rank
 * are inverted. If the order is by a string, the strings themselves are compared.
 *
 * What would break it: the verifier checks the body of each callback once, for any state in map memory. So each index
 * that was read from there is masked (bounded()). For the same reason, no callback may rely on a check that
 * another one has made. */
#include "rt.h"
#include "scan.h"

#include "../../runtime/plan/identity.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static long (*const bpf_for_each_map_elem)(void* map, void* callback, void* context, u64 flags) = (void*)164;

s64 sonde_rt_compare_bytes(const u8* a, const u8* b);

struct block {
    u64 count;
    s64 sum;
    u64 min_biased, max_biased;
    u64 squares_low, squares_high;
};
s64 sonde_rt_variance(struct block* b);
s64 sonde_rt_percentile(struct block* b, u64 counts, u64 millionths);
#define BIAS 0x8000000000000000ull

static inline volatile struct sonde_scan_state* state_of(const struct sonde_scan* s)
{
    return (volatile struct sonde_scan_state*)s->area;
}
static inline u64 heap_size(const struct sonde_scan* s) { return (s->spec->slots * 4 + 7) & ~7ull; }

/* Returns i, limited to the number of slots (a power of two). A mask instead of a comparison, because the verifier
 * would follow both sides of that. Hidden from the compiler, which may know that the mask has no effect. */
static inline u64 bounded(const struct sonde_scan* s, u64 i)
{
    __asm__ volatile("" : "+r"(i));
    return i & (s->spec->slots - 1);
}

/* Node i of the heap. */
static inline volatile u32* node(const struct sonde_scan* s, u64 i)
{
    return (volatile u32*)(s->area + sizeof(struct sonde_scan_state) + bounded(s, i) * 4);
}
static inline u8* entry(const struct sonde_scan* s, u64 i)
{
    u64 size = s->spec->by_reference ? SONDE_SCAN_REFERENCE
                                     : SONDE_SCAN_ENTRY + SONDE_SCAN_KEY(s->spec->key_size) + s->spec->copy_size;
    return s->area + sizeof(struct sonde_scan_state) + heap_size(s) + bounded(s, i) * size;
}

/* For entries by reference: the visited element's key and payload, followed by two strings. */
static inline u8* visited(const struct sonde_scan* s)
{
    return s->area + sizeof(struct sonde_scan_state) + heap_size(s) + s->spec->slots * SONDE_SCAN_REFERENCE;
}
static inline u8* text_area(const struct sonde_scan* s, u64 i)
{
    return visited(s) + SONDE_SCAN_KEY(s->spec->key_size) + s->spec->copy_size + i * sonde_rt_max;
}

/* The key of an element, which is that of the map, or is in the value (runtime/plan/array_maps.h). */
static inline const u8* own_key(const struct sonde_scan* s, const u8* map_key, const u8* value)
{
    return s->spec->key_at ? value + s->spec->key_at : map_key;
}
/* The distance from the map's key to `at`, which is an offset in the key or, after it, in the payload. */
static inline u64 in_element(const struct sonde_scan* s, u64 at)
{
    const u64 key = SONDE_SCAN_KEY(s->spec->key_size), map_key = s->spec->key_at ? sizeof(struct sonde_identity) : key;
    if (at >= key)
        return map_key + 8 + (at - key); /* 8: skips the insertion number */
    return s->spec->key_at ? map_key + s->spec->key_at + at : at;
}

/* Whether the key has the slice's components. Short strings are padded, so they can be compared word by word. Other
 * strings have the maximum size. */
static inline int in_slice(const struct sonde_scan* s, const u8* key)
{
#pragma unroll
    for (int i = 0; i < 9; i++) {
        if ((u64)i >= s->spec->components)
            break;
        if (!(s->spec->mask >> i & 1))
            continue;
        u64 size = s->spec->sizes[i];
        const u8* own = key + s->spec->offsets[i];
        const u8* wanted = s->slice + s->spec->offsets[i];
        if (size == 4) {
            if (*(const u32*)own != *(const u32*)wanted)
                return 0;
        } else if (size <= SONDE_SHORT_KEY) {
#pragma unroll
            for (u64 word = 0; word < SONDE_SHORT_KEY; word += 8)
                if (word < size && *(const u64*)(own + word) != *(const u64*)(wanted + word))
                    return 0;
        } else if (sonde_rt_compare_bytes(own, wanted) != 0) {
            return 0;
        }
    }
    return 1;
}

/* `e`: the entry of the element, without a rank yet. */
static inline u64 statistic(struct block* b, u64 what, u8* e, const struct sonde_scan* s)
{
    u64 count = b->count;
    switch (what) {
    case 0:
        return count + BIAS;
    case 1:
        return (u64)b->sum + BIAS;
    case 2:
        return count ? ~b->min_biased : BIAS;
    case 3:
        return count ? b->max_biased : BIAS;
    case 4: {
        if (!count)
            return BIAS;
        u64 m = b->sum < 0 ? 0 - (u64)b->sum : (u64)b->sum;
        u64 q = m / count;
        return (b->sum < 0 ? 0 - q : q) + BIAS;
    }
    case 6: /* opaque, because the verifier forbids an address here; the entry is still unused */
        return count ? (u64)sonde_rt_percentile(b, opaque(e, (u64)b + s->spec->quantiles_at), s->spec->percentile) + BIAS
                     : BIAS;
    default:
        return (u64)sonde_rt_variance(b) + BIAS;
    }
}

/* Copies an element to the next entry, unless it is outside of the slice. */
static long collect(void* map, const u8* map_key, const u8* value, const struct sonde_scan* s)
{
    (void)map;
    const u8* key = own_key(s, map_key, value);
    volatile struct sonde_scan_state* state = state_of(s);
    u64 insertion = *(const volatile u64*)value;
    if (insertion == 0) /* another processor is creating the element */
        return 0;
    if (s->spec->mask && !in_slice(s, key))
        return 0;
    u64 i = state->live;
    if (i >= s->spec->capacity)
        return 1;
    u8* e = entry(s, i);
    if (s->spec->by_reference) {
        ((u64*)e)[2] = (u64)map_key;
    } else {
        copy_bytes(e + SONDE_SCAN_ENTRY, (u32)s->spec->key_size, key);
        if (s->spec->copy_size)
            copy_bytes(e + SONDE_SCAN_ENTRY + SONDE_SCAN_KEY(s->spec->key_size), (u32)s->spec->copy_size, value + 8);
    }
    const u64 in_key = SONDE_SCAN_KEY(s->spec->key_size);
    const u8* by = s->spec->at < in_key ? key + s->spec->at : value + 8 + (s->spec->at - in_key); /* 8: skips the insertion number */
    u64 rank = 0;
    if (s->spec->rank == SONDE_RANK_LONG)
        rank = *(const u64*)by + BIAS;
    else if (s->spec->rank == SONDE_RANK_INT)
        rank = (u64)(s64)*(const s32*)by + BIAS;
    else if (s->spec->rank == SONDE_RANK_UNSIGNED)
        rank = *(const u32*)by + BIAS;
    else if (s->spec->rank >= SONDE_RANK_STATISTIC)
        rank = statistic((struct block*)(value + 8), s->spec->rank - SONDE_RANK_STATISTIC, e, s);
    ((u64*)e)[0] = s->spec->descending ? ~rank : rank;
    ((u64*)e)[1] = insertion;
    *node(s, i) = (u32)i;
    state->live = i + 1;
    return 0;
}

/* Whether entry a comes before entry b. Elements that compare equal keep the order of their insertion. Always
 * inlined: kernels without may_goto allow eight nested calls, and a foreach in a recursive function needs them all. */
__attribute__((always_inline)) static inline int precedes(const struct sonde_scan* s, u64 a, u64 b)
{
    u64* x = (u64*)entry(s, a);
    u64* y = (u64*)entry(s, b);
    if (s->spec->rank == SONDE_RANK_STRING) {
        u8 *first = (u8*)x + SONDE_SCAN_ENTRY + s->spec->at, *second = (u8*)y + SONDE_SCAN_ENTRY + s->spec->at;
        if (s->spec->by_reference) {
            first = text_area(s, 0);
            second = text_area(s, 1);
            const u64 in_map = in_element(s, s->spec->at);
            copy_bounded(first, sonde_rt_max, (const u8*)(x[2] + in_map));
            copy_bounded(second, sonde_rt_max, (const u8*)(y[2] + in_map));
        }
        s64 order = sonde_rt_compare_bytes(first, second);
        if (order != 0)
            return s->spec->descending ? order > 0 : order < 0;
    } else if (x[0] != y[0]) {
        return x[0] < y[0];
    }
    return x[1] < y[1];
}

/* Moves the sinking node one level down. */
static long sink(u64 n, const struct sonde_scan* s)
{
    (void)n;
    volatile struct sonde_scan_state* state = state_of(s);
    u64 at = state->at, live = state->live, child = 2 * at + 1;
    if (child >= live || live > s->spec->capacity)
        return 1;
    u64 lower = *node(s, child);
    if (child + 1 < live) {
        u64 right = *node(s, child + 1);
        if (precedes(s, right, lower)) {
            lower = right;
            child++;
        }
    }
    u64 here = *node(s, at);
    if (!precedes(s, lower, here))
        return 1;
    *node(s, at) = (u32)lower;
    *node(s, child) = (u32)here;
    state->at = child;
    return 0;
}

/* Lets the last inner node that has not sunk yet sink. After the first node, the entries form a heap. */
static long heapify(u64 n, const struct sonde_scan* s)
{
    (void)n;
    volatile struct sonde_scan_state* state = state_of(s);
    u64 end = state->end;
    if (end == 0)
        return 1;
    state->end = end - 1;
    state->at = end - 1;
    LOOP(32, sink, (void*)s);
    return 0;
}

/* Collects the elements and moves the first one to the top of the heap. */
RT s64 sonde_rt_scan_begin(void* map, const struct sonde_scan* s, s64 limit)
{
    volatile struct sonde_scan_state* state = state_of(s);
    state->live = 0;
    state->left = limit < 0 ? 0 : (u64)limit;
    bpf_for_each_map_elem(map, (void*)collect, (void*)s, 0);
    state->end = state->live / 2;
    LOOP((u32)s->spec->capacity, heapify, (void*)s);
    return 0;
}

/* Returns the index of the next entry, or -1 at the end. */
RT s64 sonde_rt_scan_next(const struct sonde_scan* s)
{
    volatile struct sonde_scan_state* state = state_of(s);
    u64 live = state->live, left = state->left;
    if (live == 0 || left == 0)
        return -1;
    u64 first = *node(s, 0);
    live--;
    *node(s, 0) = *node(s, live);
    state->live = live;
    state->left = left - 1;
    state->at = 0;
    LOOP(32, sink, (void*)s);
    return (s64)first;
}

/* For entries by reference: reads the next element. Returns 0, or 1 if the element was deleted meanwhile, or -1 at
 * the end. */
RT s64 sonde_rt_scan_visit(void* map, const struct sonde_scan* s)
{
    s64 next = sonde_rt_scan_next(s);
    if (next < 0)
        return -1;
    u64* e = (u64*)entry(s, (u64)next);
    u8* key = visited(s);
    const u64 key_at = s->spec->key_at;
    copy_bytes(key, key_at ? sizeof(struct sonde_identity) : (u32)s->spec->key_size, (const u8*)e[2]);
    const u8* value = bpf_map_lookup_elem(map, key);
    if (!value || *(const volatile u64*)value != e[1])
        return 1;
    if (key_at)
        copy_bytes(key, (u32)s->spec->key_size, value + key_at);
    if (s->spec->copy_size)
        copy_bytes(key + SONDE_SCAN_KEY(s->spec->key_size), (u32)s->spec->copy_size, value + 8);
    return 0;
}

static long find(void* map, const u8* key, const u8* value, const struct sonde_scan* s)
{
    (void)map;
    if (!in_slice(s, own_key(s, key, value)))
        return 0;
    state_of(s)->live = 1;
    return 1;
}
/* Returns 1 if some element is in the slice. */
RT s64 sonde_rt_scan_contains(void* map, const struct sonde_scan* s)
{
    volatile struct sonde_scan_state* state = state_of(s);
    state->live = 0;
    bpf_for_each_map_elem(map, (void*)find, (void*)s, 0);
    return (s64)state->live;
}

static long erase(void* map, const u8* key, const u8* value, const struct sonde_scan* s)
{
    if (!s->spec->mask || in_slice(s, own_key(s, key, value)))
        bpf_map_delete_elem(map, key);
    return 0;
}
/* Deletes the elements in the slice, or all elements. */
RT s64 sonde_rt_scan_delete(void* map, const struct sonde_scan* s)
{
    bpf_for_each_map_elem(map, (void*)erase, (void*)s, 0);
    return 0;
}
