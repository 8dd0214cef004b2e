/* The state of a handler that follows the frames of Ruby (codegen/rtlib/ruby_stack.bpf.c). */
#ifndef SONDE_RUBY_STACK_H
#define SONDE_RUBY_STACK_H

#include "interpreted_stack.h"

enum { SONDE_RUBY_WALK_WORDS = 32 };
struct sonde_ruby_walk {
    struct sonde_interpreter_walk all;
    unsigned long long end; /* of the frames in the thread's stack */
    /* The frame whose word comes next, and the first one from there on that has a position in a file. */
    unsigned long long frame, located, is_located;
    unsigned long long code, pc;                     /* of `located`; 0: there is none */
    unsigned long long words[SONDE_RUBY_WALK_WORDS]; /* of any structure */
    unsigned long long environment[3];               /* of `frame`: method, outer environment, flags */
    unsigned long long name, path, line;             /* addresses of texts */
    unsigned long long text, text_size;              /* the bytes of a text, and their number */
    unsigned long long instructions, lines, lines_size, index;
};

#endif
