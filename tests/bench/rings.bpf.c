/* Ways to keep an event of 92 bytes. Each program makes the event first, and rings.c measures the programs:
 *
 * * a BPF ring buffer that is read
 * * the buffer of a perf event, which is overwritten
 * * the flight recorder's ring (codegen/rtlib/keep.h), with and without a clock for each event
 * * with OVERWRITE, on kernels that have it: a BPF ring buffer that is overwritten */
#include "../../codegen/rtlib/rt.h"
#include "../../runtime/plan/flight_rings.h"
#include "../../runtime/plan/session_words.h"
#define SEC(name) __attribute__((section(name), used))
#define MAP(name, kind, key, value, entries, flags)                                                                    \
    struct {                                                                                                           \
        int (*type)[kind];                                                                                             \
        int (*key_size)[key];                                                                                          \
        int (*value_size)[value];                                                                                      \
        int (*max_entries)[entries];                                                                                   \
        int (*map_flags)[flags];                                                                                       \
    } name SEC(".maps")

enum { BYTES = 92, PERF_ARRAY = 4, ARRAY = 2, RINGBUF = 27, MAPPABLE = 1 << 10, OVERWRITES = 1 << 19 };
struct {
    int (*type)[RINGBUF];
    int (*max_entries)[16 << 20];
#ifdef OVERWRITE
    int (*map_flags)[OVERWRITES];
#endif
} ring SEC(".maps");
MAP(events, PERF_ARRAY, 4, 4, 64, 0);
MAP(frames, ARRAY, 4, 256, 1, 0);
MAP(sonde_flight_rings, ARRAY, 4, sizeof(struct sonde_flight_ring), 64, MAPPABLE);
MAP(sonde_flight_chunks, ARRAY, 4, SONDE_FLIGHT_CHUNK_BYTES, 256, MAPPABLE);
struct sonde_session_words sonde_data;
#include "../../codegen/rtlib/keep.h"

static long (*const bpf_perf_event_output)(void* context, void* map, u64 flags, void* data, u64 size) = (void*)25;
static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;
static u64 (*const bpf_ringbuf_query)(void* ring, u64 flags) = (void*)134;

static inline u64* make_event(void)
{
    u32 only = 0;
    u64* at = keep_lookup(&frames, &only);
    for (u64 i = 0; at && i < 12; i++)
        at[i] = i;
    return at;
}
#define PROGRAM(name, statement)                                                                                       \
    SEC("tc") int name(void* context)                                                                                  \
    {                                                                                                                  \
        (void)context;                                                                                                 \
        u64* at = make_event();                                                                                        \
        if (at)                                                                                                        \
            statement;                                                                                                 \
        return 0;                                                                                                      \
    }
PROGRAM(made, (void)0)
PROGRAM(read_ring, bpf_ringbuf_output(&ring, at, BYTES, bpf_ringbuf_query(&ring, 0) >= 64 << 10 ? 2 : 1))
PROGRAM(overwritten_ring, bpf_ringbuf_output(&ring, at, BYTES, 1))
PROGRAM(perf_buffer, bpf_perf_event_output(context, &events, 0xffffffffull, at, BYTES))
PROGRAM(flight_ring, keep((const u8*)at, BYTES, 0, 0))
PROGRAM(flight_ring_and_clock, keep((const u8*)at, BYTES, record_time(), 0))
char _license[] SEC("license") = "GPL";
