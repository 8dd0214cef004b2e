/* What a handler with several records has for the runtime: it gathers them here and sends them together at its end
 * (codegen/rtlib/gather.bpf.c). Shared with that, so it is C. */
#pragma once

/* Of records that are sent at once. A run that has more sends pieces, which the runtime puts together. */
enum { SONDE_BATCH_BYTES = 2048 };
enum { SONDE_BATCH_RECORD = 12 };                     /* the type of the record that they become (plan.h) */
enum { SONDE_FIRST_PIECE = 1, SONDE_LAST_PIECE = 2 }; /* its format */

struct sonde_batch {
    unsigned long long record; /* where the record is that is added next: a number, as the verifier takes it */
    unsigned long long left;   /* bytes of it that are still to be added */
    unsigned long long used;   /* bytes that wait */
    unsigned long long id;     /* where this is: no other run that sends at the same time has it */
    unsigned long long sent;   /* a piece is out */
    unsigned long long lost;   /* a piece had no room, so that nothing more of this run is sent */
    struct {
        unsigned int type, format, row, size; /* plan::RecordHeader */
    } header;
    unsigned char bytes[2 * SONDE_BATCH_BYTES]; /* right after the header; the second half for the verifier's sake */
};
