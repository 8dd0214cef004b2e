/* Facts about a build of PHP, with which handlers read the frames of a process (codegen/rtlib/php_stack.bpf.c).
 *
 * languages/php reads them once for each interpreter file. Offsets are in bytes.
 * C, because codegen/rtlib includes it. */
#ifndef SONDE_PHP_H
#define SONDE_PHP_H

struct sonde_php {
    /* The place of `executor_globals` in the file, as a distance: a mapping of the code at the address `start` with the
     * file offset `offset` has it at start - offset + distance. */
    unsigned long long globals;
    unsigned version;                                                  /* 802 for 8.2 */
    unsigned globals_frame, globals_thrown;                            /* zend_executor_globals */
    unsigned code_count, code, code_file;                              /* zend_op_array */
    unsigned generator_frame, generator_parent, generator_placeholder; /* zend_generator */
};

#endif
