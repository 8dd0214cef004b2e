/* The state of a handler that follows the frames of PHP (codegen/rtlib/php_stack.bpf.c). */
#ifndef SONDE_PHP_STACK_H
#define SONDE_PHP_STACK_H

#include "interpreted_stack.h"

enum { SONDE_PHP_WALK_WORDS = 32, SONDE_PHP_TEXT_WORDS = 64 };
struct sonde_php_walk {
    struct sonde_interpreter_walk all;
    unsigned long long frame, function, instruction; /* the current frame */
    unsigned long long is_code;                      /* 1: its function is written in PHP */
    unsigned long long name, scope, path, line;      /* addresses of texts; of a class */
    unsigned long long ends;                         /* 1: the activation ends, unless a generator's frames follow */
    /* Generators that delegate to another one (`yield from`). `generator`: the outermost one. `behind`: the frame that
     * follows it. `taken`: the last frame that was taken. `next`: the state of the search for the next generator. */
    unsigned long long generator, behind, taken, next;
    unsigned long long words[SONDE_PHP_WALK_WORDS]; /* of any structure */
    unsigned long long text_size, text[SONDE_PHP_TEXT_WORDS];
};

#endif
