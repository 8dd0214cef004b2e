/* Arrays that replace their oldest element when they are full (`global a%`).
 *
 * The problem: a BPF hash map does not know the order in which its elements were inserted. To search the whole map for
 * the oldest element at each insertion would be too slow.
 *
 * The idea: each element begins with the number of its insertion (1, 2, 3 ...). A second map, `order`, is a ring of
 * places. The place at (number modulo number of places) has the number and the key of that element. The ring has at
 * least twice as many places as the array has elements. `newest` is the last number that was given, and all places up
 * to number `passed` are done with. To make room, take the places after `passed`, one by one, until one of them belongs
 * to an element that still exists with this number, and delete that element.
 *
 * Example, with two elements and four places: `a` is inserted as number 1, `b` as number 2. To insert `c`, place 1 is
 * passed and `a` is deleted; `c` gets number 3. If the script had deleted `a` itself, or inserted it again with a later
 * number, place 1 would be passed without effect.
 *
 * An element can lose its place. Say that `a` (number 1) stays, and `b` is deleted and inserted again three times. The
 * last time, it gets number 5, whose place is that of number 1. Now `a` is not in the ring, and `unlisted` is set. As
 * long as it is set, the oldest element is searched for in the whole map. That is slow, but always right.
 *
 * Handlers on other CPUs do the same at the same time, without a lock:
 * - A place has number 0 while it is written. A handler that meets such a place does not wait, but searches the whole
 *   map. When half of the ring has been filled after this place, the place is passed nevertheless, because its writer
 *   may have been interrupted.
 * - `passed` is only changed by compare-and-swap, so that two handlers never evict for the same place.
 * - The place is read again after its key was used, because a newer element may have taken it in between.
 * - The room can be taken by another handler's element before ours is inserted. Then we try again, TRIES times at most.
 */
#include "rt.h"

#include "../../runtime/plan/wrap.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static long (*const bpf_for_each_map_elem)(void* map, void* callback, void* context, u64 flags) = (void*)164;

enum { NEW_ONLY = 1 /* BPF_NOEXIST */, EXISTS = -17, TRIES = 3 };

static inline u64 number_at(const u8* place) { return *(const volatile u64*)place; }

/* Returns the number for a new element, and writes the key into the number's place. This must be done before the
 * element gets the number: otherwise, evict_next() could pass the place without seeing the element. */
RT u64 sonde_rt_number_wrapped(void* map, const u8* key, void* order, struct sonde_wrap* w,
                               const struct sonde_wrap_spec* spec)
{
    u64 number = __sync_fetch_and_add(&w->newest, 1) + 1;
    u32 at = (u32)number & (u32)(spec->places - 1);
    u8* place = bpf_map_lookup_elem(order, &at);
    if (!place)
        return number;
    u64 before = number_at(place);
    if (before > *(volatile u64*)&w->passed) {
        u8* element = bpf_map_lookup_elem(map, place + 8);
        if (element && number_at(element) == before)
            w->unlisted = 1;
    }
    *(volatile u64*)place = 0;
    copy_bytes(place + 8, (u32)spec->key_size, key);
    *(volatile u64*)place = number;
    return number;
}

struct evicting {
    void *map, *order;
    struct sonde_wrap* w;
    const struct sonde_wrap_spec* spec;
    u64 done;
};
/* Passes the next place of the ring. Returns 1 to end the loop: an element was deleted, or the search must be used. */
static long evict_next(u64 i, struct evicting* e)
{
    (void)i;
    struct sonde_wrap* w = e->w;
    u64 passed = *(volatile u64*)&w->passed, newest = *(volatile u64*)&w->newest, number = passed + 1;
    if (passed >= newest)
        return 1;
    u32 at = (u32)number & (u32)(e->spec->places - 1);
    u8* place = bpf_map_lookup_elem(e->order, &at);
    if (!place)
        return 1;
    u64 there = number_at(place);
    if (there < number) {
        /* Another handler is writing this place. If it does not finish soon, the others go on without it. */
        if (newest - number < e->spec->places / 2)
            return 1;
        w->unlisted = 1;
    }
    if (__sync_val_compare_and_swap(&w->passed, passed, number) != passed || there != number)
        return 0;
    u8* element = bpf_map_lookup_elem(e->map, place + 8);
    if (number_at(place) != number) { /* too late: the place has a newer element */
        w->unlisted = 1;
        return 1;
    }
    if (!element || number_at(element) != number)
        return 0;
    bpf_map_delete_elem(e->map, place + 8);
    e->done = 1;
    return 1;
}

/* The search of the whole map. Elements with number 0 are skipped: another handler is just inserting them. */
struct oldest {
    u64 number;
};
static long find_oldest(void* map, const u8* key, const u8* value, struct oldest* o)
{
    (void)map;
    (void)key;
    u64 number = number_at(value);
    if (number && number < o->number)
        o->number = number;
    return 0;
}
static long erase_oldest(void* map, const u8* key, const u8* value, struct oldest* o)
{
    if (number_at(value) != o->number)
        return 0;
    bpf_map_delete_elem(map, key);
    return 1;
}

/* Makes room in a full array and creates the element with zeros. Another handler may take the room first. */
RT s64 sonde_rt_insert_wrapped(void* map, const u8* key, void* order, struct sonde_wrap* w,
                               const struct sonde_wrap_spec* spec)
{
    for (int i = 0; i < TRIES; i++) {
        struct evicting e = {map, order, w, spec, 0};
        if (!*(volatile u64*)&w->unlisted)
            LOOP((u32)spec->places, evict_next, &e);
        if (!e.done) {
            struct oldest o = {~0ull};
            w->unlisted = 0;
            bpf_for_each_map_elem(map, (void*)find_oldest, &o, 0);
            if (o.number <= *(volatile u64*)&w->passed)
                w->unlisted = 1;
            bpf_for_each_map_elem(map, (void*)erase_oldest, &o, 0);
        }
        long status = bpf_map_update_elem(map, key, sonde_rt_zeros, NEW_ONLY);
        if (status == 0 || status == EXISTS)
            break;
    }
    return 0;
}
