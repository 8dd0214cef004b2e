/* Frames of Python in stacks.
 *
 * The problem: a Python function has no machine code. In the stack of the machine, each call of the interpreter's loop
 * stands for one Python function, or since Python 3.11 for several. Their names and lines are in the interpreter's
 * memory, which is gone when the process has ended.
 *
 * The idea: a handler follows the interpreter's own list of frames, and puts a word for each frame into the stack. The
 * word is not an address: its top byte is one that no address has. The other bytes are the line and the number of a
 * name. Handlers store each name once, in the map `sonde_frame_names`. So equal frames of all processes are equal
 * words, and the runtime can describe them without the process.
 *
 * C, because codegen/rtlib writes the map and the runtime reads it. */
#ifndef SONDE_PYTHON_STACK_H
#define SONDE_PYTHON_STACK_H

#include "identity.h"

enum { SONDE_INTERPRETED_TOP = 0xfc, SONDE_INTERPRETED_LINE_BITS = 24 };
enum {
    SONDE_PYTHON_UNREADABLE, /* instead of a name: the frame could not be read, so its callers are unknown */
    SONDE_PYTHON_UNNAMED,    /* the map of names was full or busy */
    SONDE_INTERPRETED_FIRST_NAME,
};
#define SONDE_PYTHON_UNREADABLE_TEXT "[unreadable Python function]"
#define SONDE_PYTHON_UNNAMED_TEXT "[unnamed Python function]"
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
    unsigned long long base;  /* in `file`: where the name without the folder begins */
    char function[SONDE_INTERPRETED_FUNCTION_BYTES], file[SONDE_INTERPRETED_FILE_BYTES];
};

/* Results of earlier hits, for all processors. Each use of an entry checks that it is still right. */
enum { SONDE_INTERPRETED_FRAMES = 8192, SONDE_PYTHON_THREADS = 1024, SONDE_PYTHON_PROCESSES = 256 }; /* powers of two */
struct sonde_python_cache {
    struct {
        unsigned long long frame, mark; /* mark: the frame's word and the contents that it was made from */
    } frame[SONDE_INTERPRETED_FRAMES];
    unsigned long long thread[SONDE_PYTHON_THREADS]; /* address of the interpreter's structure for a thread */
    /* The interpreter of a process: `base` and `element` as below. Without one, `element` is -1, and `base` the number
     * of the process' pages of code. `mark`: a hash of the process and the other words. */
    struct {
        unsigned long long base, element, mark;
    } process[SONDE_PYTHON_PROCESSES];
};

/* Offsets in the structure of a thread that are the same in all versions: its neighbor in the list; its interpreter. */
enum { SONDE_PYTHON_THREAD_BEFORE = 0, SONDE_PYTHON_THREAD_INTERPRETER = 16 };

/* The state of a handler that follows the frames. */
enum { SONDE_PYTHON_WALK_WORDS = 32, SONDE_PYTHON_TEXT_WORDS = 112, SONDE_INTERPRETED_DEPTH = 128 };
struct sonde_python_walk {
    /* The interpreter of the process: the file's inode, its element of `sonde_python`, and the address that its offset
     * 0 has or would have. An inode of 0: not known. */
    unsigned long long inode, element, base;
    unsigned long long loop, is_early; /* while it is searched: the loop's linked address; 1: a file has no table yet */
    unsigned long long
        loops[SONDE_INTERPRETED_DEPTH / 64]; /* bits of functions of the user stack: the interpreter's loop */
    unsigned long long most, thread_pointer, interpreter, thread, fallback;
    unsigned long long frame, cframe, code, instr, shown, is_entry, number;
    unsigned long long words[SONDE_PYTHON_WALK_WORDS]; /* of a frame or a code object */
    unsigned long long name, file;                     /* addresses of texts */
    struct sonde_identity names, contents; /* of the frame's texts; of everything that its word depends on */
    /* The search for the line: the table, the part of it in `window`, and the position. */
    unsigned long long table, table_size, window_at, window[SONDE_PYTHON_WALK_WORDS];
    unsigned long long at, start, end, code_of_entry, value, shift, is_collecting;
    long long place, line, found;
    /* The activations of the loop. `entry`: for the first frame of each, an address in its part of the machine's stack,
     * or 1: unknown. `last`: bits of the last frame of each. */
    unsigned long long begin, activations, entry[SONDE_INTERPRETED_DEPTH], last[SONDE_INTERPRETED_DEPTH / 64];
    /* The merge of both stacks. */
    unsigned long long native, taken, is_inside, replaces, out, is_cut;
    unsigned long long text[SONDE_PYTHON_TEXT_WORDS]; /* struct python_text */
    struct sonde_interpreted_name texts;
};

#endif
