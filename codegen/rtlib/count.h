/* Reads the current processor's performance counters (struct sonde_counted in counters.h). */
#pragma once

#include "../../runtime/plan/session_words.h"
#include "counters.h"
#include "kernel_task.h"

/* Maps, defined by the script's module. */
extern u8 sonde_counters, sonde_counted, sonde_counts_of;
extern struct sonde_session_words sonde_data;

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)1;
static u32 (*const bpf_get_smp_processor_id)(void) = (void*)8;
static long (*const bpf_perf_event_read_value)(void* map, u64 flags, void* value, u32 size) = (void*)55;

/* A counter's index for this processor, in both maps. */
static inline u32 place_of(u32 counter) { return bpf_get_smp_processor_id() * (u32)sonde_data.counters + counter; }

/* The counter's value when the current thread began to run on this processor. */
static inline u64* last_of(u32 counter) {
    u32 place = place_of(counter);
    return bpf_map_lookup_elem(&sonde_counted, &place);
}

/* Reads the counter of the current processor. Returns a number other than 0 if that is impossible, for example because
 * the event was not opened for this processor. */
static inline long read_counter(u32 counter, u64* value) {
    u64 all[3] = {}; /* struct bpf_perf_event_value: counter, enabled, running */
    long failed = bpf_perf_event_read_value(&sonde_counters, place_of(counter), all, sizeof(all));
    *value = all[0];
    return failed;
}
