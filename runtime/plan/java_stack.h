/* The state of a handler that unwinds and reads frames of Java (codegen/rtlib/java_stack.bpf.c). */
#ifndef SONDE_JAVA_STACK_H
#define SONDE_JAVA_STACK_H

#include "interpreted_stack.h"

/* How a handler has found the caller of generated code. */
enum {
    SONDE_JAVA_NO_CODE, /* the code is not HotSpot's */
    SONDE_JAVA_FOUND,
    SONDE_JAVA_LOST,    /* it is unknown */
    SONDE_JAVA_GUESSED, /* the code may have a frame pointer */
};
enum { SONDE_JAVA_HEAPS = 4, SONDE_JAVA_WALK_WORDS = 64 };
struct sonde_java_walk {
    struct sonde_interpreter_walk all;
    /* Parts of the code heap, and a table with a byte for each segment of a part. */
    unsigned long long low[SONDE_JAVA_HEAPS], high[SONDE_JAVA_HEAPS], segments[SONDE_JAVA_HEAPS];
    unsigned long long segment_bits, interpreter, interpreter_end, call_stub_return, return_barrier, is_read;
    unsigned long long segment, heap, blob;                       /* the search for the code at an address */
    unsigned long long cfa, saved_at, back;                       /* the caller of a frame */
    unsigned long long frame, pushed_at, allocated_at, stored_at; /* a compiled method's frame, and its prologue */
    /* For each function of the user stack: 0, or its method if it is interpreted, or else its nmethod plus 1; and the
     * address of its current bytecode, or its pc. */
    unsigned long long method[SONDE_INTERPRETED_DEPTH], position[SONDE_INTERPRETED_DEPTH];
    unsigned long long words[SONDE_JAVA_WALK_WORDS];                                  /* of any structure */
    unsigned long long at, code, code_size, pool, name, file, class_name, bci, line;  /* of a method */
    unsigned long long scope, scopes, metadata, sender, low_row, high_row, rows;      /* of an nmethod */
    unsigned long long number, shift, known_bci, known_line, read, state, first_byte; /* a compressed stream */
    unsigned long long current; /* the function of the user stack whose methods are added */
};

#endif
