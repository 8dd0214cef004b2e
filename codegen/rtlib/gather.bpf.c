/* Collects the records of one run of a handler in its frame, and sends them together at its end. So output of other
 * handlers cannot come in between.
 *
 * A batch has SONDE_BATCH_BYTES. If the records take more, the batch is sent in pieces, which the runtime joins by
 * their id (runtime/engine/batches.cc). The first and the last piece are marked. A piece may end within a record.
 *
 * If a piece finds no room in the ring buffer, the rest is dropped. The runtime then has a beginning without an end,
 * and drops it, too. So the output of one run is complete or missing, and a missing one is counted as lost. */
#include "../../runtime/plan/batch.h"
#include "../../runtime/plan/session_words.h"
#include "rt.h"

extern u8 sonde_flight_rings, sonde_flight_chunks; /* maps, defined by the script's module */
extern struct sonde_session_words sonde_data;
#include "keep.h"

static long (*const bpf_ringbuf_output)(void* ring, void* data, u64 size, u64 flags) = (void*)130;
static u64 (*const bpf_ringbuf_query)(void* ring, u64 flags) = (void*)134;

extern u8 sonde_events;           /* the ring buffer */
extern const u32 sonde_rt_flight; /* 1: records stay in the flight recorder's rings */

enum { NO_WAKEUP = 1, FORCE_WAKEUP = 2, WAKE_AT_BYTES = 64 << 10 };
enum { MOST_PIECES = 1 << 16 };

static inline void send(struct sonde_batch* b, u32 last)
{
    u64 used = masked(b->used, 2 * SONDE_BATCH_BYTES - 1);
    b->header.type = SONDE_BATCH_RECORD;
    b->header.format = (b->sent ? 0 : SONDE_FIRST_PIECE) | last;
    b->header.row = (u32)b->id;
    b->header.size = (u32)used;
    if (sonde_rt_flight) {
        keep((const u8*)&b->header, sizeof b->header + used, record_time(), 0);
        b->sent = 1;
        b->used = 0;
        return;
    }
    /* As for single records, wake the reader only when many bytes wait. */
    u64 flags = bpf_ringbuf_query(&sonde_events, 0) >= WAKE_AT_BYTES ? FORCE_WAKEUP : NO_WAKEUP;
    if (bpf_ringbuf_output(&sonde_events, &b->header, sizeof b->header + used, flags) < 0)
        b->lost = 1;
    b->sent = 1;
    b->used = 0;
}

static inline void copy(struct sonde_batch* b, u64 from, u64 size)
{
    u64 used = b->used;
    if (size == 0)
        return;
    if (size > SONDE_BATCH_BYTES)
        size = SONDE_BATCH_BYTES;
    /* masked: the verifier of 6.1 has forgotten the comparison, which was made with another copy of the number */
    u64 count = masked(size - 1, SONDE_BATCH_BYTES - 1) + 1;
    bpf_probe_read_kernel(b->bytes + masked(used, SONDE_BATCH_BYTES - 1), (u32)count, (const void*)from);
    b->used = used + count;
}

struct adding { /* on the stack, as bpf_loop() requires */
    struct sonde_batch* batch;
};
/* The progress is stored in the batch, whose contents the verifier does not track. It would check each iteration
 * separately otherwise. */
static long add_piece(u64 i, const struct adding* a)
{
    (void)i;
    struct sonde_batch* b = a->batch;
    if (b->used >= SONDE_BATCH_BYTES)
        send(b, 0);
    u64 room = SONDE_BATCH_BYTES - b->used, left = b->left, size = left < room ? left : room;
    copy(b, b->record, size);
    b->record += size;
    b->left = left - size;
    return left == size || b->lost;
}

/* Adds the record of `size` bytes at b->record. A piece may end anywhere within a record. */
ONCE s64 sonde_rt_add_record(struct sonde_batch* b, u64 size)
{
    NEED(b);
    if (b->lost)
        return 0;
    if (size <= SONDE_BATCH_BYTES && b->used + size <= SONDE_BATCH_BYTES) {
        copy(b, b->record, size);
        return 0;
    }
    b->left = size;
    struct adding a = {b};
    LOOP(MOST_PIECES, add_piece, &a);
    return 0;
}

/* Call it at the handler's end. Returns 1 if the ring buffer was full; then the runtime gets no record of this run. */
ONCE s64 sonde_rt_send_records(struct sonde_batch* b)
{
    NEED(b);
    if (!b->lost && (b->used || b->sent))
        send(b, SONDE_LAST_PIECE);
    s64 lost = b->lost != 0;
    b->sent = 0;
    b->lost = 0;
    return lost;
}
