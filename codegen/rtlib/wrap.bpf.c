/* Arrays that replace their oldest element when they are full (`%`): insertion numbers of elements, and room for new
 * elements. */
#include "rt.h"

#include "../../runtime/plan/wrap.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static long (*const bpf_map_update_elem)(void* map, const void* key, const void* value, u64 flags) = (void*)2;
static long (*const bpf_map_delete_elem)(void* map, const void* key) = (void*)3;
static long (*const bpf_for_each_map_elem)(void* map, void* callback, void* context, u64 flags) = (void*)164;

enum { NEW_ONLY = 1 /* BPF_NOEXIST */, EXISTS = -17, TRIES = 3 };

static inline u64 number_at(const u8* place) { return *(const volatile u64*)place; }

/* Returns the number for a new element. Its place in the list then has the key. */
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
/* Examines the next place in the list. */
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
