/* Frames of Python in stacks: what handlers keep, and their state while they follow the frames
 * (codegen/rtlib/python_stack.bpf.c). */
#ifndef SONDE_PYTHON_STACK_H
#define SONDE_PYTHON_STACK_H

#include "interpreted_stack.h"

/* Results of earlier hits, for all processors. Each use of an entry checks that it is still right. */
enum { SONDE_PYTHON_THREADS = 1024, SONDE_PYTHON_PROCESSES = 256 }; /* powers of two */
struct sonde_python_cache {
    unsigned long long thread[SONDE_PYTHON_THREADS]; /* address of the interpreter's structure for a thread */
    /* The interpreter of a process: `base` and `element` as in the walk. Without one, `element` is -1, and `base` the
     * number of the process' pages of code. `mark`: a hash of the process and the other words. */
    struct {
        unsigned long long base, element, mark;
    } process[SONDE_PYTHON_PROCESSES];
};

/* Offsets in the structure of a thread that are the same in all versions: its neighbor in the list; its interpreter. */
enum { SONDE_PYTHON_THREAD_BEFORE = 0, SONDE_PYTHON_THREAD_INTERPRETER = 16 };

enum { SONDE_PYTHON_WALK_WORDS = 32, SONDE_PYTHON_TEXT_WORDS = 112 };
struct sonde_python_walk {
    struct sonde_interpreter_walk all;
    unsigned long long loop, is_early; /* while it is searched: the loop's linked address; 1: a file has no table yet */
    unsigned long long thread_pointer, interpreter, thread, fallback;
    unsigned long long frame, cframe, outer_cframe, outer_frame, code, instr, shown, is_entry;
    unsigned long long words[SONDE_PYTHON_WALK_WORDS]; /* of a frame or a code object */
    unsigned long long name, file;                     /* addresses of texts */
    /* The search for the line: the table, the part of it in `window`, and the position. */
    unsigned long long table, table_size, window_at, window[SONDE_PYTHON_WALK_WORDS];
    unsigned long long at, start, end, code_of_entry, value, shift, is_collecting;
    long long place, line, found;
    unsigned long long text[SONDE_PYTHON_TEXT_WORDS]; /* struct python_text */
};

#endif
