/* A user stack as handlers unwind it, and what they tell of the memory that its addresses lie in. C: shared by
 * codegen/rtlib, which writes them, and the runtime, which reads them. */
#ifndef SONDE_STACK_H
#define SONDE_STACK_H

#include "file_table.h"

enum { SONDE_STACK_MOST = 128, SONDE_STACK_WINDOW = 32 }; /* addresses, words; powers of two */
enum sonde_stack_state {
    SONDE_STACK_FRESH, /* not unwound yet */
    SONDE_STACK_WHOLE, /* up to the outermost function */
    SONDE_STACK_CUT,   /* there is more than MAXBACKTRACE */
    /* From here on it is counted, where text or numbers cannot say it. */
    SONDE_STACK_COUNTED,
    SONDE_STACK_LOST = SONDE_STACK_COUNTED, /* how to go on is not known */
    SONDE_STACK_EARLY,   /* it leads through a file whose table handlers do not have: callers may lack */
    SONDE_STACK_GUESSED, /* it leads through code that no table describes, by frame pointers: callers may lack */
    /* There is none, and why: */
    SONDE_STACK_NONE,
    SONDE_STACK_NO_PROCESS = SONDE_STACK_NONE, /* the handler is about no process */
    SONDE_STACK_KERNEL_THREAD,
    SONDE_STACK_GONE,       /* the process has given back its memory */
    SONDE_STACK_OTHER_TASK, /* the handler is about a task that is not the current one */
    SONDE_STACK_STATES,
};
/* Which registers a user stack begins with. */
enum sonde_stack_origin {
    SONDE_FROM_REGISTERS, /* rip, rsp, rbp of struct sonde_stack */
    SONDE_FROM_ENTRY, /* those that the kernel saved when the task entered it; rsp is the task, or 0: the current one */
    SONDE_FROM_END,   /* the same, where a program ends: by exec, its memory is the next one's already */
    SONDE_FROM_NOWHERE, /* the handler is about no process */
};
struct sonde_stack {
    unsigned long long rip, rsp, rbp; /* where it begins */
    unsigned long long from;          /* a sonde_stack_origin */
    unsigned long long state, depth;
    unsigned long long address[SONDE_STACK_MOST]; /* the innermost first */
    /* While it is unwound: the words from an address on that were read last; 0: none. */
    unsigned long long window_at, window[SONDE_STACK_WINDOW];
};

/* Both stacks of a hit. Of the kernel's, `rip` is the function that is probed, or 0; `rsp` is 0 where there is none,
 * 1 where there is one, and for trampolines 2 more than the words of arguments that the function has; `rbp` is 1 at the
 * function's return. Where it is unwound, the part of it with the addresses begins some words later:
 * what leads from the probed place to the handler is left out. */
enum { SONDE_DISPATCH_MOST = 15 }; /* addresses of that */
/* What an address of a user stack means in any process: a place in a file. */
struct sonde_place {
    unsigned long long inode; /* the kernel's address of it; 0: the code lies in no file, and `place` is the address */
    unsigned long long place; /* offset in the file */
    unsigned long long owner; /* the edition of the file, or the process that has made the code */
};
/* While a user stack is unwound: registers other than rip, rsp and rbp are worked out where a rule needs them, from the
 * innermost function on. */
struct sonde_machine {
    unsigned long long since;  /* the function whose registers these are: how many others it has called */
    unsigned long long wanted; /* the one whose registers are needed */
    unsigned long long loaded; /* 1: `registers` holds something */
    unsigned long long at;     /* the function that is climbed out of */
    unsigned long long known;  /* a bit for each register */
    unsigned long long registers[SONDE_REGISTERS];
    /* Of each function: rsp, rbp, and the address that its rule is looked up by. */
    unsigned long long rsp[SONDE_STACK_MOST], rbp[SONDE_STACK_MOST], looked[SONDE_STACK_MOST];
    /* While a program runs (SONDE_RULE_STEPS): its next step, the words on its stack, what it has set, and where it has
     * read last. */
    unsigned long long step, depth, words[SONDE_STEP_WORDS], cfa, given[SONDE_REGISTERS], set, forgotten, read_at,
        exact;
    unsigned long long return_at, failed; /* where the return address was read; 1: a word could not be read */
    unsigned long long fresh, usable;     /* whether `registers` is its function's; a bit for each that it may read */
    unsigned long long ended;             /* 1: it has come to its end; or SONDE_STEPS_LACK */
    unsigned long long exact_now;         /* rip is the instruction itself; else it is after a call */
    unsigned long long narrow;            /* SONDE_RULE_NARROW in 32-bit code, where no table says it */
    unsigned long long state;             /* 0: it goes on; else how it has ended */
    unsigned long long doubt; /* why callers may lack: SONDE_STACK_EARLY or SONDE_STACK_GUESSED; 0: nothing */
    /* Instructions that a function has still to run, and what they do: to the stack pointer (`cfa`), and where they
     * find the caller's rbp; 0: they do not. */
    unsigned long long code[4], code_at, word, own_rbp, kept, leaves;
    unsigned long long saves; /* where registers are saved: a word of a SAVES row */
};
enum { SONDE_STEPS_LACK = 2 }; /* a program needs a register that is not known */
struct sonde_stacks {
    struct sonde_stack user, kernel;
    unsigned long long room[SONDE_DISPATCH_MOST + 1];
    unsigned long long left; /* 1: the function has returned, and the user's stack begins with its caller */
    struct sonde_place place[SONDE_STACK_MOST]; /* of the user's addresses */
    struct sonde_machine machine;
};

/* Stacks as keys of arrays. Processes that run the same program have it at different addresses, so a stack is known by
 * its places, and is the text of the addresses that it had in the process where it was met first: `sonde_shared` has
 * the text for the places. `sonde_owners` has them for the text, since one text can be that of several stacks: where
 * programs are not moved, or texts are cut. Then all but the first one have noughts in front, 0x0401136.
 *
 * A value of `sonde_shared` is the text, padded with NULs to MAXSTRINGLEN, then this, then two words for each address
 * in the text: inode, place. */
struct sonde_shared {
    unsigned long long process; /* the first one */
    unsigned long long depth;   /* addresses that have these words; no more than there is room for */
};
enum { SONDE_NOUGHTS_MOST = 63 };
/* What a stack is known by. */
struct sonde_identity {
    unsigned long long word[2];
};
/* Two sums of the same words, which are independent of each other: stacks that differ agree in both once in 2^128
 * pairs. The words begin with addresses of the kernel's, so nobody outside can choose what they sum up to. */
static inline unsigned long long sonde_mix(unsigned long long sum, unsigned long long word, unsigned long long factor) {
    sum = (sum ^ word) * factor;
    return sum ^ sum >> 32;
}
static inline void sonde_identify(struct sonde_identity* to, unsigned long long word) {
    to->word[0] = sonde_mix(to->word[0], word, 0xff51afd7ed558ccdull);
    to->word[1] = sonde_mix(to->word[1] + word, word, 0x9e3779b97f4a7c15ull);
}
/* How many places there is room for, in what a slot has after a text. */
static inline unsigned sonde_shared_places(unsigned max_string, unsigned max_backtrace) {
    unsigned most = (max_string + 64 - sizeof(struct sonde_shared)) / 16, out = 1;
    while (2 * out <= most && out < max_backtrace && out < SONDE_STACK_MOST)
        out *= 2;
    return out;
}
/* Functions of the kernel that call the handlers of one tracepoint, as addresses from and to; 0: there is none. */
struct sonde_dispatch {
    unsigned long long range[3][2];
};
/* Stands for the kernel where a file's inode is wanted. Places in it are distances from the beginning of its addresses'
 * last two GB, where its code and its modules lie. */
#define SONDE_KERNEL_FILE 1ull
/* The same of the code that the kernel maps into processes (vdso(7)), for programs of 64 and of 32 bits. Places in it
 * are distances from its beginning, as its image is an ELF file. */
#define SONDE_VDSO_FILE 2ull
#define SONDE_VDSO_FILE_32 3ull
#define SONDE_KERNEL_BASE 0xffffffff80000000ull

/* How often the handlers of a probe got no stack, or not all of it, where they asked for text or numbers, by state from
 * SONDE_STACK_COUNTED on. */
struct sonde_no_stacks {
    unsigned long long count[SONDE_STACK_STATES - SONDE_STACK_COUNTED];
};

/* What unwinding has looked up: the rule for a place in a file. */
struct sonde_rule {
    unsigned long long place_and_rule; /* the place in the upper half */
    unsigned long long mark;           /* of the file, and of the other word */
};
enum { SONDE_RULES = 8192 }; /* a power of two */
struct sonde_rules {
    struct sonde_rule rule[SONDE_RULES];
};

/* A part of a process that is mapped from a file: seen for the first time. */
struct sonde_mapping {
    unsigned long long process, start, end, offset; /* offset: in the file, of `start` */
    unsigned long long inode;                       /* the kernel's address of it: which file it is */
    unsigned long long edition;                     /* tells it from what had that inode before, or had other content */
};
/* The mappings with code that handlers have met in a process, the last ones: for when the kernel is busy with its list.
 */
enum { SONDE_KNOWN_MOST = 32 }; /* a power of two */
struct sonde_known {
    unsigned long long count;
    struct sonde_mapping list[SONDE_KNOWN_MOST];
};
/* What the runtime is told of a mapping: names are the file's, its folder's and so on, up to an empty one for the root
 * of their file system. */
enum { SONDE_NAMES = 16, SONDE_NAME_SIZE = 64 };
struct sonde_new_mapping {
    struct sonde_mapping mapping;
    char names[SONDE_NAMES][SONDE_NAME_SIZE];
};

/* What a symbol's text consists of. */
enum sonde_symbol_style {
    SONDE_SYMBOL_NAME,     /* name */
    SONDE_SYMBOL_DATA,     /* name+0x1/0x20 [path] */
    SONDE_SYMBOL_OFFSET,   /* name+0x1 [path] */
    SONDE_SYMBOL_BRIEF,    /* name+0x1 */
    SONDE_SYMBOL_MODULE,   /* the file's name without its folder; "" if there is none */
    SONDE_SYMBOL_LINE,     /* 12 */
    SONDE_SYMBOL_FILE,     /* /src/a.c */
    SONDE_SYMBOL_FILELINE, /* /src/a.c:12 */
    SONDE_SYMBOL_PATH,     /* /bin/x: the file; "" if there is none */
    SONDE_SYMBOL_PLACE,    /* 0x1136: how far after the first byte of the file that is mapped; "" if there is none */
    SONDE_SYMBOL_BUILD_ID, /* the file's build-id in hexadecimal; "" if there is none */
    SONDE_SYMBOL_STYLE = 15,
    SONDE_BEHIND_CALL = 16, /* added: a return address, which may be the first one after a function */
};

enum { SONDE_SYMBOL_BYTES = 192 }; /* of memory that the search for a symbol works in */

enum {
    SONDE_INLINED_MOST = 64, /* functions that are inlined at one address */
    SONDE_INLINE_TABLE = 32, /* a bit of plan::FileTables: handlers look these up */
};

#endif
