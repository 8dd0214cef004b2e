/* Frames of language runtimes in stacks.
 *
 * The problem: a function of Python has no machine code. In the stack of the machine, each call of the interpreter's
 * loop, an activation, stands for one such function or for several. Their names and lines are in the interpreter's
 * memory, which is gone when the process has ended.
 *
 * The idea: a handler follows the interpreter's own list of frames, and puts a word for each frame into the stack. The
 * word is not an address: its top byte is one that no address has. The other bytes are the line and the number of a
 * name. Handlers store each name once, in the map `sonde_frame_names`. So equal frames of all processes are equal
 * words, and the runtime can describe them without the process.
 *
 * Each language follows its frames in a routine of its own. Words, names and the merge with the machine's stack are
 * the same for all (codegen/rtlib/interpreted_stack.bpf.c).
 *
 * C, because codegen/rtlib writes the maps and the runtime reads them. */
#ifndef SONDE_INTERPRETED_STACK_H
#define SONDE_INTERPRETED_STACK_H

#include "identity.h"
#include "language_runtimes.h"

enum { SONDE_INTERPRETED_TOP = 0xfc, SONDE_INTERPRETED_LINE_BITS = 24 };
/* Numbers that stand for no name: these, plus SONDE_INTERPRETED_KINDS times the language. */
enum {
    SONDE_INTERPRETED_UNREADABLE, /* the frame could not be read */
    SONDE_INTERPRETED_UNNAMED,    /* the map of names was full or busy */
    SONDE_INTERPRETED_KINDS,
    SONDE_INTERPRETED_FIRST_NAME = SONDE_INTERPRETED_KINDS * SONDE_LANGUAGES,
};
enum { SONDE_INTERPRETED_NAMES = 8192 }; /* of one session */
static inline unsigned long long sonde_interpreted_frame(unsigned long long name, unsigned long long line) {
    const unsigned long long most = (1ull << SONDE_INTERPRETED_LINE_BITS) - 1;
    return (unsigned long long)SONDE_INTERPRETED_TOP << 56 | name << SONDE_INTERPRETED_LINE_BITS |
           (line < most ? line : most);
}
static inline int sonde_is_interpreted_frame(unsigned long long address) {
    return address >> 56 == SONDE_INTERPRETED_TOP;
}
static inline unsigned sonde_interpreted_name_of(unsigned long long frame) {
    return (unsigned)(frame >> SONDE_INTERPRETED_LINE_BITS);
}
static inline unsigned sonde_interpreted_line_of(unsigned long long frame) {
    return (unsigned)(frame & ((1u << SONDE_INTERPRETED_LINE_BITS) - 1));
}

/* An element of `sonde_frame_names`: NUL-terminated UTF-8. A file that does not fit has its last characters. */
enum { SONDE_INTERPRETED_FUNCTION_BYTES = 160, SONDE_INTERPRETED_FILE_BYTES = 256 };
struct sonde_interpreted_name {
    unsigned long long check; /* a hash of the texts; the key is another one */
    unsigned base;            /* in `file`: where the name without the folder begins */
    unsigned language;        /* a sonde_language */
    char function[SONDE_INTERPRETED_FUNCTION_BYTES], file[SONDE_INTERPRETED_FILE_BYTES];
};

/* Words of frames that earlier hits have met, for all processors. Each use of an entry checks that it is still right.
 */
enum { SONDE_INTERPRETED_FRAMES = 8192 }; /* a power of two */
struct sonde_frame_cache {
    struct {
        unsigned long long frame, mark; /* mark: the frame's word and the contents that it was made from */
    } frame[SONDE_INTERPRETED_FRAMES];
};

/* The state of a handler that follows the frames of an interpreter: the part that is the same for all languages. */
enum { SONDE_INTERPRETED_DEPTH = 128 };
struct sonde_interpreter_walk {
    /* The interpreter of the process: the file's inode, its language and its element of the language's map, and the
     * address that the file's offset 0 has or would have. An inode of 0: not known. */
    unsigned long long inode, language, element, base;
    /* Bits of functions of the user stack: the interpreter's loop; parts of it that the merge removes. */
    unsigned long long loops[SONDE_INTERPRETED_DEPTH / 64], removed[SONDE_INTERPRETED_DEPTH / 64];
    unsigned long long is_followed;        /* 1: the language's routine has found out which frames there are */
    unsigned long long is_early;           /* 1: the innermost activation has not called the loop yet */
    unsigned long long most, number;       /* the largest number of frames; that of a name */
    struct sonde_identity names, contents; /* of a frame's texts; of everything that its word depends on */
    /* The activations of the loop. `entry`: for the first frame of each, an address in its part of the machine's stack,
     * or 1: unknown. `last`: bits of the last frame of each. */
    unsigned long long begin, activations, entry[SONDE_INTERPRETED_DEPTH], last[SONDE_INTERPRETED_DEPTH / 64];
    /* The merge of both stacks. */
    unsigned long long native, taken, is_inside, replaces, out, is_cut;
    struct sonde_interpreted_name texts;
};

#endif
