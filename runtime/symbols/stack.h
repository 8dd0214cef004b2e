/* A user stack as handlers unwind it, and what they tell of the memory that its addresses lie in. C: shared by
 * codegen/rtlib, which writes them, and the runtime, which reads them. */
#ifndef SONDE_STACK_H
#define SONDE_STACK_H

enum { SONDE_STACK_MOST = 128, SONDE_STACK_WINDOW = 32 }; /* addresses, words; powers of two */
enum sonde_stack_state {
    SONDE_STACK_FRESH, /* not unwound yet */
    SONDE_STACK_WHOLE, /* up to the outermost function */
    SONDE_STACK_CUT,   /* there is more than MAXBACKTRACE */
    SONDE_STACK_LOST,  /* how to go on is not known */
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
struct sonde_stacks {
    struct sonde_stack user, kernel;
    unsigned long long room[SONDE_DISPATCH_MOST + 1];
    unsigned long long left; /* 1: the function has returned, and the user's stack begins with its caller */
};
/* Functions of the kernel that call the handlers of one tracepoint, as addresses from and to; 0: there is none. */
struct sonde_dispatch {
    unsigned long long range[3][2];
};
/* Stands for the kernel where a file's inode is wanted. Places in it are distances from the beginning of its addresses'
 * last two GB, where its code and its modules lie. */
#define SONDE_KERNEL_FILE 1ull
#define SONDE_KERNEL_BASE 0xffffffff80000000ull

/* How often the handlers of a probe got no stack where they asked for text or numbers, by state from SONDE_STACK_NONE
 * on. */
struct sonde_no_stacks {
    unsigned long long count[SONDE_STACK_STATES - SONDE_STACK_NONE];
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
