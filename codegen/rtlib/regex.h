/* A regular expression as constant data (base/regex.h), and what a match leaves: shared by the code generator and the
 * routines. Everything has a size that is constant or a power of two, so that the verifier sees bounds.
 */
#pragma once

#define SONDE_REGEX_REGISTERS 256
#define SONDE_REGEX_GROUPS 64
#define SONDE_REGEX_NONE 0xffffffffu

struct sonde_regex_start {
    unsigned short inside, edge;
};
struct sonde_regex_op {
    unsigned short code, from, to, out, target, unused;
    struct sonde_regex_start forward, backward;
};
struct sonde_regex {
    unsigned int width;      /* cells of a state's row */
    unsigned int table_at;   /* offset of the table from here; the ops are after this structure */
    unsigned int table_mask; /* cells of the table - 1; a power of two - 1 */
    unsigned int op_mask;    /* the same for ops */
    unsigned int groups;
    unsigned int everywhere; /* the test has to begin at each place */
    struct sonde_regex_start test;
    unsigned char classes[256];
};

/* Both are in a handler's frame. */
struct sonde_regex_test {
    unsigned long long cell, at, start, found;
};
/* Followed by the string's slot and then by MAXSTRINGLEN bytes of marks. */
struct sonde_regex_state {
    unsigned long long matched; /* whether the last match was one */
    unsigned long long groups;  /* of its expression */
    unsigned long long length;  /* of its string */
    /* While matching: the op, what is being done for it, the automaton's cell and place. */
    unsigned long long op, doing, cell, at, start, stop, best, low;
    unsigned int begin[SONDE_REGEX_GROUPS], end[SONDE_REGEX_GROUPS];
    unsigned int registers[SONDE_REGEX_REGISTERS];
};
