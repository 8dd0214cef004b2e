/* Keeps a record in the flight recorder's ring. A record that is too large for the room behind a chunk is kept in pieces,
 * which the session joins (runtime/engine/flight_rings.cc). */
#include "../../runtime/plan/session_words.h"
#include "rt.h"

extern u8 sonde_flight_rings, sonde_flight_chunks; /* maps, defined by the script's module */
extern struct sonde_session_words sonde_data;
#include "keep.h"

enum { MOST_KEPT_PIECES = 1 << 12 };

struct keeping { /* on the stack, as bpf_loop() requires */
    u64 from, left, time, id;
};

static long keep_piece(u64 i, struct keeping* k)
{
    u64 left = k->left, size = left < SONDE_FLIGHT_MOST ? left : SONDE_FLIGHT_MOST;
    u32 ends = (i ? 0 : SONDE_FIRST_PIECE) | (size == left ? SONDE_LAST_PIECE : 0);
    if (!left)
        return 1;
    keep((const u8*)k->from, size, k->time, (u32)k->id << SONDE_FLIGHT_PIECE_SHIFT | SONDE_FLIGHT_PIECE | ends);
    k->from += size;
    k->left = left - size;
    return size == left;
}

/* `from` is an address. The verifier checks this function once, and not on each path through a handler, so it must not
 * be a pointer for the verifier, which would need the bounds of its memory. `has_time`: the record is a print with the
 * time of its hit. */
ONCE s64 sonde_rt_keep_record(u64 from, u64 size, u64 has_time)
{
    if (size - 1 < SONDE_FLIGHT_MOST) {
        keep((const u8*)from, size, has_time ? 0 : record_time(), 0);
        return 0;
    }
    struct keeping k = {from, size, record_time(), from >> 3};
    LOOP(MOST_KEPT_PIECES, keep_piece, &k);
    return 0;
}
