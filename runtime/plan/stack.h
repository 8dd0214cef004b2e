/* Stacks: the structures in which handlers unwind a user stack, and in which they report the mappings of its addresses.
 * C, because codegen/rtlib writes them and the runtime reads them. */
#ifndef SONDE_STACK_H
#define SONDE_STACK_H

#include "../../arch/host/kernel_places.h"
#include "file_table.h"
#include "identity.h"
#include "java_stack.h"
#include "javascript_stack.h"
#include "php_stack.h"
#include "python_stack.h"
#include "ruby_stack.h"

enum { SONDE_STACK_MOST = 128, SONDE_STACK_WINDOW = 32 }; /* addresses, words; powers of two */
enum sonde_stack_state {
    SONDE_STACK_FRESH, /* not unwound yet */
    SONDE_STACK_WHOLE, /* complete up to the outermost function */
    SONDE_STACK_CUT,   /* ends at MAXBACKTRACE */
    /* States from here on are counted when a script uses the stack as text or numbers, because these cannot show the
     * state. */
    SONDE_STACK_COUNTED,
    SONDE_STACK_LOST = SONDE_STACK_COUNTED, /* it is unknown how to unwind further */
    SONDE_STACK_EARLY,   /* it leads through a file whose table is not available yet: callers may be missing */
    SONDE_STACK_GUESSED, /* it leads through code without a table, by frame pointers: callers may be missing */
    /* The hit has no user stack. The reasons: */
    SONDE_STACK_NONE,
    SONDE_STACK_NO_PROCESS = SONDE_STACK_NONE, /* the event does not belong to a process */
    SONDE_STACK_KERNEL_THREAD,
    SONDE_STACK_GONE,       /* the process has released its memory */
    SONDE_STACK_OTHER_TASK, /* the event belongs to another task than the current one */
    SONDE_STACK_VISITED,    /* the handler visits an existing thread, whose number is the first address */
    SONDE_STACK_NO_PYTHON,  /* only for Python's stack: the thread does not run Python */
    SONDE_STACK_STATES,
};
/* The registers with which a user stack begins. */
enum sonde_stack_origin {
    SONDE_FROM_REGISTERS, /* pc, sp, fp of struct sonde_stack */
    SONDE_FROM_ENTRY,   /* those saved at the kernel's entry; sp of sonde_stack is the task, or 0 for the current one */
    SONDE_FROM_END,     /* the same at a program's end; after an exec, the memory already belongs to the next program */
    SONDE_FROM_NOWHERE, /* the event does not belong to a process */
    SONDE_FROM_VISIT,   /* an existing task, whose address is sp of sonde_stack: the runtime unwinds it */
};
/* A stack while it is unwound, and afterward. */
struct sonde_stack {
    unsigned long long pc, sp, fp; /* the start */
    unsigned long long from;       /* a sonde_stack_origin */
    unsigned long long state, depth;
    unsigned long long address[SONDE_STACK_MOST]; /* innermost first */
    /* Used during unwinding: a copy of the words at `window_at` that were read last. `window_at` is 0 if it is empty.
     */
    unsigned long long window_at, window[SONDE_STACK_WINDOW];
};

/* A mapping of a file in a process. */
struct sonde_mapping {
    unsigned long long process, start, end, offset; /* offset: file offset of `start` */
    unsigned long long inode;                       /* kernel address of the inode, which identifies the file */
    unsigned long long edition;                     /* distinguishes earlier files with this inode or other contents */
};
/* A mapping of the current process, as sonde_rt_find_mapping() finds it. */
struct sonde_found {
    struct sonde_mapping at;
    unsigned long long code;   /* it is executable */
    unsigned long long dentry; /* of the file */
};

/* The stacks of a hit.
 *
 * For the kernel's stack, members have other meanings before it is unwound. `pc` is the probed function, or 0. `sp`
 * is 0 if the hit has no kernel stack, and 1 if it has one. For trampolines it is 2 plus the number of argument words.
 * `fp` is 1 at a function's return. `from` is the caller's address if it is in a register only, or 0. After unwinding,
 * the first words are skipped: they belong to the functions that lead from the probed place to the handler. */
enum { SONDE_DISPATCH_MOST = 15 }; /* maximum number of these */
/* A code address independent of the process: a position in a file. */
struct sonde_place {
    unsigned long long inode; /* kernel address of the inode; 0: the code is in no file, and `place` is the address */
    unsigned long long place; /* offset in the file */
    unsigned long long owner; /* the file's edition, or the process that has generated the code */
};
/* The state of unwinding. Registers other than pc, sp and fp are rarely needed. So they are computed only when a
 * rule needs them, starting from the innermost function. */
struct sonde_machine {
    struct sonde_found in;     /* the mapping of the current function */
    unsigned long long since;  /* the function whose registers these are, counted from the innermost */
    unsigned long long wanted; /* the function whose registers are needed */
    unsigned long long loaded; /* 1: `registers` is in use */
    unsigned long long at;     /* the current function */
    unsigned long long most;   /* the largest number of addresses */
    /* The newest struct return_instance of the kernel: return addresses that uretprobes have replaced. Then those of
     * the search for one: the next one, the place of the replaced address, and the original. */
    unsigned long long returns, next_return, return_place, original;
    unsigned long long known; /* one bit for each known register */
    unsigned long long registers[SONDE_REGISTERS];
    /* For each function: sp, fp, and the address by which its rule was found. */
    unsigned long long sp[SONDE_STACK_MOST], fp[SONDE_STACK_MOST], looked[SONDE_STACK_MOST];
    /* Used while a program runs (SONDE_RULE_STEPS): its next step, the words on its stack, the registers that it has
     * set, and the address that it read last. */
    unsigned long long step, depth, words[SONDE_STEP_WORDS], cfa, given[SONDE_REGISTERS], set, forgotten, read_at,
        exact;
    unsigned long long return_at, failed; /* the address of the return address; 1: a word could not be read */
    unsigned long long fresh, usable;     /* whether `registers` is this function's; bits of the readable registers */
    unsigned long long ended;             /* 1: the program has ended; or SONDE_STEPS_LACK */
    unsigned long long exact_now;         /* 1: pc is the instruction itself; 0: pc is a return address */
    unsigned long long narrow;            /* SONDE_RULE_NARROW in 32-bit code without a table */
    unsigned long long state;             /* 0: unwinding continues; otherwise the final state */
    unsigned long long doubt; /* why callers may be missing: SONDE_STACK_EARLY or SONDE_STACK_GUESSED; 0: none are */
    unsigned long long guessed_in_file; /* not 0: a frame without a table is in a file */
    /* The remaining instructions of a function without a table, and their effect: on the stack pointer (`cfa`), and the
     * position of the caller's fp; 0: no effect. */
    unsigned long long code[4], code_at, word, own_fp, kept, leaves;
    unsigned long long saves; /* where registers are saved, as in a saves row */
    unsigned long long born;  /* 1: the task is new and has not left clone() yet */
    unsigned long long execs; /* 1: the task is in execve(), which may have released the program's memory already */
    /* On architectures with a link register: */
    unsigned long long link, has_link; /* its value; 1: it has the return address of the current function */
    unsigned long long back_at;        /* where code without a table has saved it */
    unsigned long long address_bits;   /* of a program's addresses, without authentication */
    unsigned long long is_loose;       /* 1: sp is only known to be below the frame at fp */
    /* Generated code: the mapping that contains the type of the first object in its memory, if it is a code heap of
     * HotSpot; and the number of attempts to find it. */
    struct sonde_found java;
    unsigned long long java_tries;
};
enum { SONDE_STEPS_LACK = 2 }; /* a program needs an unknown register */
struct sonde_stacks {
    struct sonde_stack user, kernel;
    struct sonde_stack interpreted; /* the frames of an interpreter alone; the user stack contains them, too */
    unsigned long long room[SONDE_DISPATCH_MOST + 1];
    unsigned long long left; /* 1: the function has returned, so the user stack begins with its caller */
    struct sonde_place place[SONDE_STACK_MOST]; /* of the addresses of the user stack */
    struct sonde_machine machine;
    /* The search for frames of an interpreter. Each language's state begins with `walk`. */
    union {
        struct sonde_interpreter_walk walk;
        struct sonde_python_walk python;
        struct sonde_ruby_walk ruby;
        struct sonde_php_walk php;
        struct sonde_javascript_walk javascript;
        struct sonde_java_walk java;
    };
};

/* Stacks as keys of arrays.
 *
 * The problem: processes that run the same program have it at different addresses. So equal stacks have different
 * addresses, and would be different keys.
 *
 * The idea: identify a stack by its places (inode and file offset). Its text, which is the key, consists of the
 * addresses in the process where it was seen first. `sonde_shared` maps the identity of the places to the text.
 *
 * Two different stacks can have the same text, if programs are not relocated or texts are cut. `sonde_owners` maps a
 * text to its stack to detect this. All but the first stack then get leading zeros, as in 0x0401136.
 *
 * A value of `sonde_shared` is the text, padded with NULs to MAXSTRINGLEN, followed by this structure, and by two words
 * for each address: inode and place. */
struct sonde_shared {
    unsigned long long process; /* the process where the stack was seen first */
    unsigned long long depth;   /* number of addresses that have these words, limited by the available memory */
};
enum { SONDE_NOUGHTS_MOST = 63 };
/* The number of places for which a value of `sonde_shared` has memory after the text. */
static inline unsigned sonde_shared_places(unsigned max_string, unsigned max_backtrace) {
    unsigned most = (max_string + 64 - sizeof(struct sonde_shared)) / 16, out = 1;
    while (2 * out <= most && out < max_backtrace && out < SONDE_STACK_MOST)
        out *= 2;
    return out;
}
/* Address ranges of the kernel's functions that call the handlers of one tracepoint: from and to; 0: unused. */
struct sonde_dispatch {
    unsigned long long range[3][2];
};
/* Stands for the kernel wherever a file's inode is expected. Places in the kernel are relative to sonde_kernel_base(),
 * because its code and modules are within 4 GB. */
#define SONDE_KERNEL_FILE 1ull
/* Stands for the code that the kernel maps into processes (vdso(7)), for 64-bit and 32-bit programs. Places are
 * relative to its first byte, because its image is an ELF file. */
#define SONDE_VDSO_FILE 2ull
#define SONDE_VDSO_FILE_32 3ull
/* `shift` is that of the kernel's table. If the kernel can be anywhere, it has the base's upper 40 bits, of which the
 * first ones are set for any kernel address. */
enum { SONDE_KERNEL_BASE_SHIFT = 24 };
static inline unsigned long long sonde_kernel_base(unsigned shift) {
    return SONDE_KERNEL_MOVES ? (unsigned long long)(int)shift << SONDE_KERNEL_BASE_SHIFT : SONDE_KERNEL_LOWEST;
}

/* How often the handlers of a probe had no stack, or an incomplete one, when they used it as text or numbers. Indexed
 * by state from SONDE_STACK_COUNTED on. */
struct sonde_no_stacks {
    unsigned long long count[SONDE_STACK_STATES - SONDE_STACK_COUNTED];
};

/* A cache of unwind rules: the rule for a place in a file. */
struct sonde_rule {
    unsigned long long place_and_rule; /* the place in the upper half, the rule in the lower half */
    unsigned long long mark;           /* hash of the file and of the other word */
};
enum { SONDE_RULES = 8192 }; /* a power of two */
struct sonde_rules {
    struct sonde_rule rule[SONDE_RULES];
};

/* The last code mappings that handlers have seen in a process. Used when the kernel is just changing its list of
 * mappings. */
enum { SONDE_KNOWN_MOST = 32 }; /* a power of two */
struct sonde_known {
    unsigned long long count;
    struct sonde_mapping list[SONDE_KNOWN_MOST];
};
/* A new mapping for the runtime. `names` are the names of the file, its folder and so on, up to an empty name for the
 * root of the file system. */
enum { SONDE_NAMES = 16, SONDE_NAME_SIZE = 64 };
struct sonde_new_mapping {
    struct sonde_mapping mapping;
    char names[SONDE_NAMES][SONDE_NAME_SIZE];
};

/* The contents of a symbol's text. */
enum sonde_symbol_style {
    SONDE_SYMBOL_NAME,     /* name */
    SONDE_SYMBOL_DATA,     /* name+0x1/0x20 [path] */
    SONDE_SYMBOL_OFFSET,   /* name+0x1 [path] */
    SONDE_SYMBOL_BRIEF,    /* name+0x1 */
    SONDE_SYMBOL_MODULE,   /* the file's name without the folder; "" if none is known */
    SONDE_SYMBOL_LINE,     /* 12 */
    SONDE_SYMBOL_FILE,     /* /src/a.c */
    SONDE_SYMBOL_FILELINE, /* /src/a.c:12 */
    SONDE_SYMBOL_PATH,     /* /bin/x: the file; "" if none is known */
    SONDE_SYMBOL_PLACE,    /* 0x1136: distance from the first mapped byte of the file; "" if none is known */
    SONDE_SYMBOL_BUILD_ID, /* the file's build-id in hexadecimal; "" if it has none */
    /* The async functions of Rust at the address, innermost first, a line for each: "shop::pay at /src/shop.rs:12"; ""
     * if it has none. Only the runtime has this text. */
    SONDE_SYMBOL_ASYNC,
    SONDE_SYMBOL_STYLE = 15,
    SONDE_BEHIND_CALL = 16, /* a flag: a return address, which may be the first one after a function */
};

enum { SONDE_SYMBOL_BYTES = 192 }; /* scratch memory for the search */

enum {
    SONDE_INLINED_MOST = 64, /* maximum number of functions inlined at one address */
    SONDE_INLINE_TABLE = 32, /* a bit of plan::FileTables: handlers look up inlined functions */
};

#endif
