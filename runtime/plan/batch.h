/* A buffer in which a handler collects its records, to send them together at its end (codegen/rtlib/gather.bpf.c).
 * Sending one batch is cheaper than many records. Shared with codegen/rtlib, so it is C. */
#pragma once

/* The number of bytes that are sent at once. A handler with more output sends several pieces, which the runtime joins.
 */
enum { SONDE_BATCH_BYTES = 2048 };
enum { SONDE_BATCH_RECORD = 12 };                     /* RecordType of a batch (records.h) */
enum { SONDE_FIRST_PIECE = 1, SONDE_LAST_PIECE = 2 }; /* bits in the format of its record */

// The state of one run's output.
struct sonde_batch {
    unsigned long long record; /* position of the next record (an integer: the verifier accepts no pointer here) */
    unsigned long long left;   /* bytes of that record that are not yet added */
    unsigned long long used;   /* bytes in the buffer */
    unsigned long long id;     /* the buffer's address; no other run has it at the same time */
    unsigned long long sent;   /* 1: a piece was sent */
    unsigned long long lost;   /* 1: a piece had no room in the ring buffer, so the rest of this run is dropped */
    struct {
        unsigned int type, format, row, size; /* plan::RecordHeader */
    } header;
    unsigned char bytes[2 * SONDE_BATCH_BYTES]; /* follows the header directly; second half: for the verifier */
};
