/* The memory that a handler copies, so that the session can read the variables of a function's callers.
 *
 * The problem: the variables of a caller can be in registers that a called function has saved, and they can point to
 * other memory. Only the debug information of the caller tells where. It is too large for handlers, and the callers are
 * known only at the hit. Later the program has changed its memory.
 *
 * The idea: the handler copies the registers, the upper part of the stack, and the memory to which both point, without
 * knowing what it is. The session then unwinds the copy, and evaluates variables in it (runtime/plan/stack_copy.h).
 *
 *     frames outside of the copied part of the stack ---> blocks, each of which is copied once
 *     registers, then the stack ------------------------> blocks
 *     blocks -------------------------------------------> more blocks, until all are used
 *
 * C, because codegen/rtlib writes the copy and the runtime reads it. */
#ifndef SONDE_COPIED_MEMORY_H
#define SONDE_COPIED_MEMORY_H

#include "thread_walk.h"

enum {
    SONDE_COPY_CHUNK = 1024, /* bytes; a page consists of whole chunks and whole blocks */
    SONDE_COPY_CHUNKS = 64,  /* of the stack */
    SONDE_COPY_BLOCK = 256,  /* bytes */
    SONDE_COPY_BLOCKS = 2048,
    SONDE_COPY_SLOTS = 8192, /* of the table of known blocks */
    SONDE_COPY_BELOW = 128,  /* bytes below the stack pointer that a function may use (psABI, "red zone") */
};
enum sonde_copy_state { SONDE_COPY_FREE, SONDE_COPY_BEGUN, SONDE_COPY_DONE };
/* The copy of one hit. The map `sonde_stack_copy` has one element, which the first hit fills. */
struct sonde_stack_copy {
    unsigned long long state;   /* a sonde_copy_state */
    struct sonde_thread thread; /* the registers at the hit, the thread pointer and the numbers; other members are 0 */
    unsigned long long stack_at, chunks; /* address of the first chunk; one bit for each chunk that was copied */
    unsigned long long blocks;           /* the number of copied blocks */
    unsigned long long frame_blocks;     /* the number of those that belong to frames */
    unsigned long long left_out;         /* how often a block was needed and no room was left */
    unsigned long long code, code_end;   /* addresses of the program's code, which is not copied */
    unsigned long long block_at[SONDE_COPY_BLOCKS]; /* their addresses */
    unsigned long long slots[SONDE_COPY_SLOTS];     /* addresses of blocks that were copied or cannot be; 0: unused */
    unsigned long long stack[SONDE_COPY_CHUNKS * SONDE_COPY_CHUNK / 8];
    unsigned long long block[SONDE_COPY_BLOCKS * SONDE_COPY_BLOCK / 8];
};

#endif
