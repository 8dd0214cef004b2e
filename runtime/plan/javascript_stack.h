/* The state of a handler that follows the frames of JavaScript (codegen/rtlib/javascript_stack.bpf.c). */
#ifndef SONDE_JAVASCRIPT_STACK_H
#define SONDE_JAVASCRIPT_STACK_H

#include "interpreted_stack.h"

enum { SONDE_JAVASCRIPT_TEXT_WORDS = 64, SONDE_JAVASCRIPT_PIECES = 16 };
struct sonde_javascript_walk {
    struct sonde_interpreter_walk all;
    unsigned long long frame[5]; /* the words below fp, the lowest first */
    /* Objects of the current frame. `code`: its bytecode, and 0 if the frame is not one of the interpreter. */
    unsigned long long function, shared, scope, script, code;
    unsigned long long name, path; /* addresses of texts; 0: none */
    unsigned long long start;      /* the function's position in the source, plus 1; 0: unknown */
    unsigned long long line;
    unsigned long long words[4]; /* of an object */
    /* The text that is being read: strings that follow, the innermost last; characters that are skipped; and the
     * characters of one string. */
    unsigned long long pieces, piece[SONDE_JAVASCRIPT_PIECES], skipped, most, high, failed;
    unsigned long long chars_at, chars, width, next;
    unsigned long long raw[SONDE_JAVASCRIPT_TEXT_WORDS];
    unsigned long long text_size, text[SONDE_JAVASCRIPT_TEXT_WORDS];
    /* The search in a table of positions. */
    unsigned long long table, table_size, wanted, value, shift, is_position, at, position, found;
    /* The count of lines. */
    unsigned long long source, after_return;
};

#endif
