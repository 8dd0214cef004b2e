/* Writes a record to this processor's ring of the flight recorder (runtime/plan/flight_rings.h).
 *
 * Handlers run on a processor one inside another (an interrupt's in a system call's), or take turns (a program's
 * handler can be preempted). So a writer first moves `begun`, which gives it a place that no other writer has, and
 * fills the place afterwards. A reader recognizes a record that is not filled yet by its `position`, which is written
 * last.
 *
 * What would break this: a writer that is preempted for so long that the others fill the whole ring meanwhile. It then
 * continues in a place that belongs to newer records. It cannot know in time, but it knows afterwards, and leaves a
 * scar that tells readers which records it may have damaged.
 *
 * Whoever includes this file declares the maps sonde_flight_rings and sonde_flight_chunks, and sonde_data. */
#pragma once

#include "../../arch/host/publish.h"
#include "../../runtime/plan/batch.h"
#include "../../runtime/plan/flight_rings.h"
#include "../../runtime/plan/session_words.h"
#include "rt.h"

static void* (*const keep_lookup)(void* map, const void* key) = (void*)1;
static u64 (*const keep_time)(void) = (void*)5;
static u32 (*const keep_processor)(void) = (void*)8;

static inline void leave_scar(struct sonde_flight_ring* ring, u64 position, u64 bytes) {
    struct sonde_flight_scar* scar = &ring->scars[__sync_fetch_and_add(&ring->scarred, 1) & (SONDE_FLIGHT_SCARS - 1)];
    scar->position = position;
    scar->bytes = bytes;
    scar->begun = *(volatile u64*)&ring->begun;
}

static inline u64 record_time(void) { return keep_time() + (u64)sonde_data.realtime_offset_ns; }

/* `size`: at most SONDE_FLIGHT_MOST. `time`: 0 if the record itself has its time. Reading the clock takes twice as long
 * as all the rest. */
static inline void keep(const u8* from, u64 size, u64 time, u32 piece) {
    u32 processor = keep_processor();
    struct sonde_flight_ring* ring = keep_lookup(&sonde_flight_rings, &processor);
    if (!ring)
        return;
    /* masked: the verifier of 6.1 has forgotten the comparison, which was made with another copy of the number */
    const u64 count = masked(size - 1, SONDE_FLIGHT_MOST - 1) + 1;
    const u64 bytes = (sizeof(struct sonde_flight_record) + count + 7) & ~7ull;
    const u64 position = __sync_fetch_and_add(&ring->begun, -bytes) - bytes;
    u32 index = (u32)(ring->first + (position / SONDE_FLIGHT_CHUNK & ring->mask));
    u8* chunk = keep_lookup(&sonde_flight_chunks, &index);
    if (!chunk) {
        __sync_fetch_and_add(&ring->absent, 1);
        return;
    }
    struct sonde_flight_record* record = (void*)(chunk + masked(position, SONDE_FLIGHT_CHUNK - 8));
    record->time = time;
    record->size = (u32)count;
    record->piece = piece;
    bpf_probe_read_kernel(record + 1, (u32)count, from);
    PUBLISH(&record->position, position);
    if (position + bytes - *(volatile u64*)&ring->begun > (ring->mask + 1) * SONDE_FLIGHT_CHUNK)
        leave_scar(ring, position, bytes);
    __sync_fetch_and_add(&ring->done, (1ull << 32) + bytes);
}
