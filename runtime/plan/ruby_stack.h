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
    unsigned long long name_size;
    unsigned long long scope[3], method; /* the search for the frame's method: an environment; the result */
    /* Names with a class. `labelled`: the code whose label is shown; `outermost`: the code around all blocks that it is
     * in, which is that of a method (`is_of_method`) or, for example, of a class. `base`: the text at the end of the
     * label, before which the class is put. `owner`: the class that has the method; 0: the name has no class. */
    unsigned long long labelled, outermost, is_of_method, base, owner;
    /* The code is a `rescue` or an `ensure`; this one stands for the next frame with code. */
    unsigned long long is_cleanup, is_covered;
};

#endif
