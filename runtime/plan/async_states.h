/* Chains of futures (Rust) and coroutines (C++): the table by which a handler follows one.
 *
 * A future of Rust is a state machine, an object that contains the future for which it waits. A coroutine of C++ has a
 * frame in memory, and its promise has the address of the frame that waits for it. So both chains are lists of objects,
 * and the table tells how to go from one object to the next. The compiler makes it from debug information
 * (frontend/variables/async_chain.cc), and codegen/rtlib/async.bpf.c interprets it.
 *
 * The table is a list of words. A row begins at a word with its kind. `at` is the address of the current object. A line
 * is the number of a text of the output; 0: none. The next row 0 ends the chain. */
#ifndef SONDE_ASYNC_STATES_H
#define SONDE_ASYNC_STATES_H

enum sonde_async_row {
    /* line: the chain ends */
    SONDE_ASYNC_END,
    /* line, offset, next: `at` moves by the offset */
    SONDE_ASYNC_RECORD,
    /* line of a null pointer, next: `at` becomes the address that it contains */
    SONDE_ASYNC_POINTER,
    /* offsets of the two pointers of a `dyn Future`: to the object, and to the virtual table, which tells the next row
     */
    SONDE_ASYNC_DYN,
    /* offset and size of the tag; the number of variants; line, offset and next for other tags; then for each variant
     * its tag, line, offset, next */
    SONDE_ASYNC_TAGGED,
    /* `at` is a coroutine's frame, whose functions tell the next row */
    SONDE_ASYNC_FRAME,
    /* of a coroutine: offset and size of the number of the suspended place, the number of lines, the first line (one
     * for each place), the line for other places, the line of a finished coroutine, the offset of the address of the
     * coroutine that waits, next */
    SONDE_ASYNC_COROUTINE,
};

/* Lines of a chain that sonde cannot follow to its end. An address follows those that are marked. */
struct sonde_async_ends {
    unsigned long long cycle, deep, fault /* address */, tag /* number */, table /* address */, frame /* address */;
};

struct sonde_async_states {
    unsigned long long mask;                /* the number of words, a power of two, less 1 */
    unsigned long long first_place, places; /* index and number of pairs, sorted: address as linked, row */
    unsigned long long inward;              /* 1: the chain leads to the innermost function; 0: away from it */
    struct sonde_async_ends ends;
    unsigned long long words[];
};

enum {
    SONDE_ASYNC_MOST = 64,  /* lines of the output */
    SONDE_ASYNC_DIGITS = 4, /* of a line's number in the result */
    SONDE_ASYNC_LINES = 1 << 16,
};

/* The state of following a chain. Input: row, at, moved. */
struct sonde_async_work {
    unsigned long long row, at, moved; /* moved: the distance between addresses in the process and as linked */
    unsigned long long lines, length, ended;
    /* A search: for a place, or for a variant. */
    unsigned long long searching, low, high, wanted, missing;
    /* Brent's algorithm for cycles: the object that is compared with all that follow, until the next power of two. */
    unsigned long long seen_row, seen_at, steps, limit;
    unsigned long long word[2];
};

#endif
