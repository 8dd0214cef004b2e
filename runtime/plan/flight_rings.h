/* The flight recorder's rings: one for each processor, written by handlers, read by nobody until something happens
 * (runtime/engine/flight_rings.h). Old records are overwritten. Shared with codegen/rtlib, so it is C.
 *
 * A ring's memory is an array of chunks, because kernels before 6.7 limit an array map's elements to 4 MB. A record has
 * a position, which is a number of bytes that only decreases: the newest record has the lowest one. So a reader who
 * knows the newest position finds the record before it behind it, and so on, until one that is overwritten:
 *
 *     begun                                                            begun + bytes of the ring
 *     | newest record | the one before | ...        | oldest record | a part of an overwritten one
 *
 * The position modulo the ring's bytes is the place. A record does not wrap at a chunk's end: behind each chunk is room
 * for the rest of the record that begins last in it. */
#pragma once

#include <stdint.h>

enum {
    SONDE_FLIGHT_CHUNK = 64 << 10, /* bytes; a power of two */
    SONDE_FLIGHT_MOST = 4 << 10,   /* the most bytes of a record without its head; larger ones are sent in pieces */
    SONDE_FLIGHT_SCARS = 8,
};
#define SONDE_FLIGHT_BEGIN (UINT64_C(1) << 62) /* the position before the first record */

/* Begins each record. The rest is a multiple of 8 bytes, at most SONDE_FLIGHT_MOST. */
struct sonde_flight_record {
    uint64_t position; /* written last: marks a record that is complete */
    uint64_t time;     /* nanoseconds since 1970 (hir::Clock::Steady); 0: a print that has the time among its values */
    uint32_t size;     /* bytes after this head, not rounded */
    uint32_t piece; /* 0: a whole record. Otherwise SONDE_FIRST_PIECE and SONDE_LAST_PIECE, and the rest of the number
                       identifies the record */
};
/* A piece in the middle must not look like a whole record. */
enum { SONDE_FLIGHT_PIECE = 4, SONDE_FLIGHT_PIECE_SHIFT = 3 };

/* The bytes of a chunk with the room behind it. */
#define SONDE_FLIGHT_CHUNK_BYTES (SONDE_FLIGHT_CHUNK + SONDE_FLIGHT_MOST + sizeof(struct sonde_flight_record))

/* The state of a processor's ring: an element of the map sonde_flight_rings. */
struct sonde_flight_ring {
    uint64_t begun;  /* position of the newest record, which may still be incomplete */
    uint64_t done;   /* complete records << 32, plus their bytes */
    uint64_t first;  /* index of the ring's first chunk; set by the runtime */
    uint64_t mask;   /* number of its chunks, a power of two, minus 1; set by the runtime */
    uint64_t absent; /* records of a processor that has no ring, because it was off when the session began */
    /* Writers that were interrupted until their place belonged to newer records, which they then damaged. */
    uint64_t scarred;
    struct sonde_flight_scar {
        uint64_t position, bytes; /* of the writer's record */
        uint64_t begun;           /* records below this position were written later, and are intact */
    } scars[SONDE_FLIGHT_SCARS];
    uint64_t unused[2]; /* so that rings are in different cache lines */
};
