/* A regular expression as constant data (base/regex.h), and the state of a match; shared by the code generator and
 * the routines. All sizes are constants or powers of two, so that the verifier can check bounds. */
#pragma once

#define SONDE_REGEX_REGISTERS 256
#define SONDE_REGEX_GROUPS 64
#define SONDE_REGEX_NONE 0xffffffffu

/* The start states of an automaton: in the middle of a string, and at its edge (regex::Start). */
struct sonde_regex_start {
    unsigned short inside, edge;
};
/* An operation of base/regex.h (regex::Op). `forward` and `backward` are the start states of its automata. */
struct sonde_regex_op {
    unsigned short code, from, to, out, target, unused;
    struct sonde_regex_start forward, backward;
};
struct sonde_regex {
    unsigned int width;      /* cells in the row of a state */
    unsigned int table_at;   /* offset of the table from here; the operations follow this structure */
    unsigned int table_mask; /* number of cells in the table, a power of two, minus 1 */
    unsigned int op_mask;    /* the same for operations */
    unsigned int groups;
    unsigned int everywhere; /* the test must start at each place */
    struct sonde_regex_start test;
    unsigned char classes[256];
};

/* Both are in a handler's frame. */
struct sonde_regex_test {
    unsigned long long cell, at, start, found;
};
/* Followed by the slot with the string, and by MAXSTRINGLEN bytes of marks. */
struct sonde_regex_state {
    unsigned long long matched; /* whether the last match succeeded */
    unsigned long long groups;  /* of the expression */
    unsigned long long length;  /* of the string */
    /* During a match: the operation, its current step, and the automaton's cell and place. */
    unsigned long long op, doing, cell, at, start, stop, best, low;
    unsigned int begin[SONDE_REGEX_GROUPS], end[SONDE_REGEX_GROUPS];
    unsigned int registers[SONDE_REGEX_REGISTERS];
};
