/* What handlers in the kernel know of a program or a library: one table a file.
 *
 * A table is an array map of 64-bit elements, the value under the file's inode in the map of maps `sonde_files`. The
 * runtime compiles it (file_table.cc); routines of codegen/rtlib search it. All places are offsets in the file: what a
 * mapping gives for an address without knowing how the file was linked. C, because both include it.
 *
 *   SONDE_TABLE_HEAD elements    struct sonde_table_head
 *   unwind rows                  one element each: place, then the rule that holds from there on, as packed below
 *   symbol rows                  two elements each: struct sonde_table_row, value: the symbol's size
 *   line rows                    two elements each: struct sonde_table_row, value: the line; 0: none from there on
 *   inlined rows                 two elements each: struct sonde_table_row, text: the chain of the innermost function
 *                                that is inlined from there on
 *   chains                       one element each: the function's text, and above it the chain of the function around
 *                                it, if that is inlined too, else 0
 *   saves rows                   one element each: place, then where functions have saved their caller's registers from
 *                                there on, as packed below
 *   steps                        one element each: an instruction of a SONDE_RULE_STEPS rule's program
 *   texts                        NUL-terminated; rows name them by their first element
 */
#ifndef SONDE_FILE_TABLE_H
#define SONDE_FILE_TABLE_H

struct sonde_table_head {
    unsigned unwind, symbols, lines; /* rows */
    unsigned path;                   /* element of the file's name */
    unsigned size;                   /* of what a process maps of the file, in bytes */
    unsigned name;                   /* element of the file's name without its folder */
    unsigned shift;                  /* from a place in the code to its distance from the first mapped byte */
    unsigned inlined;                /* rows */
    unsigned build_id;               /* element of the file's build-id in hexadecimal */
    unsigned saves;                  /* rows */
    unsigned first_save;             /* element of the first one */
    unsigned first_step;             /* element of the first step */
};
struct sonde_table_row {
    unsigned place, value;
    unsigned text;  /* element; 0: none */
    unsigned owner; /* element: the module that has it, of the kernel's symbols; the row of the function that a
                       program's symbol is a part of, from which offsets count; 0: none */
};
enum {
    SONDE_TABLE_HEAD = sizeof(struct sonde_table_head) / 8,
    SONDE_TABLE_FLAGS = 1 << 12 | 1 << 10, /* BPF_F_INNER_MAP (5.10), BPF_F_MMAPABLE (5.5) */
    SONDE_TABLE_ROW = sizeof(struct sonde_table_row) / 8,
};

/* How the caller's registers are found. A rule has 32 bits: 4 of kind, 18 of `cfa` and 10 of `rbp`, both in words. The
 * return address lies below the CFA. The caller's rbp lies `rbp` below the CFA; 0: it is unchanged. */
enum sonde_rule_kind {
    SONDE_RULE_NONE,       /* no table has this place. `cfa` is not 0 where rbp is known to be a frame pointer */
    SONDE_RULE_RSP,        /* CFA = rsp + cfa */
    SONDE_RULE_RBP,        /* CFA = rbp + cfa */
    SONDE_RULE_END,        /* the outermost function */
    SONDE_RULE_UNKNOWN,    /* a rule that this cannot express */
    SONDE_RULE_STEPS,      /* everything else: a program, from step SONDE_RULE_STEP() on */
    SONDE_RULE_NARROW = 8, /* added: words have 4 bytes, not 8 */
};
#define SONDE_RULE(kind, cfa, rbp) ((unsigned)(kind) | (unsigned)(cfa) << 4 | (unsigned)(rbp) << 22)
#define SONDE_RULE_KIND(rule) ((rule) & 7)
#define SONDE_RULE_CFA(rule) (((rule) >> 4) & 0x3ffff)
#define SONDE_RULE_SAVED_RBP(rule) (((rule) >> 22) & 0x3ff)
#define SONDE_RULE_STEP(rule) ((rule) >> 4)
/* As `rbp`: if rbp is 2 words below the CFA, it points to the caller's, else it is unchanged. This is how Go saves it,
 * whose tables do not describe it. */
enum { SONDE_RULE_CFA_MOST = 0x3ffff, SONDE_RULE_RBP_MOST = 0x3fe, SONDE_RULE_RBP_OF_GO = 0x3ff };

/* The registers of a function, as struct pt_regs has them. */
enum sonde_register { SONDE_RBX = 5, SONDE_RBP = 4, SONDE_RIP = 16, SONDE_RSP = 19, SONDE_REGISTERS = 32 };
/* The other ones that functions keep for their callers: rbx, r12 to r15; in 32-bit code ebx, esi, edi. A row has 6 bits
 * for each: how many words below the CFA it is saved. */
enum {
    SONDE_SAVED_MOST = 5,
    SONDE_SAVED_SAME = 0,
    SONDE_SAVED_UNKNOWN = 63,
};
#define SONDE_SAVED_WORDS(saves, n) ((saves) >> 6 * (n) & 63)
/* The n'th one, as a sonde_register: 5 bits of a number each. */
#define SONDE_SAVED_WIDE (5u | 3u << 5 | 2u << 10 | 1u << 15 | 0u << 20)
#define SONDE_SAVED_NARROW (5u | 13u << 5 | 14u << 10 | 31u << 15 | 31u << 20)
#define SONDE_SAVED_REGISTER(narrow, n) (((narrow) ? SONDE_SAVED_NARROW : SONDE_SAVED_WIDE) >> 5 * (n) & 31)

/* A program works on a stack of words, and gives the caller's registers. What it does not give is unchanged; the CFA is
 * the caller's rsp. A step: its kind in 8 bits, a register in 8, and a signed number in 48. */
enum sonde_step_kind {
    SONDE_STEP_END,
    SONDE_STEP_REST,     /* what follows gives other registers than rip, rsp and rbp */
    SONDE_STEP_NUMBER,   /* push the number */
    SONDE_STEP_REGISTER, /* push the register and the number */
    SONDE_STEP_CFA,      /* push the CFA and the number */
    SONDE_STEP_ADD,      /* add the number */
    SONDE_STEP_READ,     /* the bytes there, as many as the number */
    SONDE_STEP_PICK,     /* push a word, counted from the top */
    SONDE_STEP_DROP,
    SONDE_STEP_SWAP,
    SONDE_STEP_ROTATE, /* the top below the two others */
    SONDE_STEP_NEGATE,
    SONDE_STEP_NOT,
    SONDE_STEP_ABSOLUTE,
    SONDE_STEP_PLUS, /* from here on: of the word below the top and the top */
    SONDE_STEP_MINUS,
    SONDE_STEP_TIMES,
    SONDE_STEP_AND,
    SONDE_STEP_OR,
    SONDE_STEP_XOR,
    SONDE_STEP_SHIFT_LEFT,
    SONDE_STEP_SHIFT_RIGHT,
    SONDE_STEP_SHIFT_SIGNED,
    SONDE_STEP_EQUAL,
    SONDE_STEP_UNEQUAL,
    SONDE_STEP_LESS,
    SONDE_STEP_LESS_OR_EQUAL,
    SONDE_STEP_GREATER,
    SONDE_STEP_GREATER_OR_EQUAL,
    SONDE_STEP_JUMP,   /* as many steps on as the number */
    SONDE_STEP_BRANCH, /* the same, if the top is not 0 */
    SONDE_STEP_SET_CFA,
    SONDE_STEP_SET,    /* the caller's register */
    SONDE_STEP_FORGET, /* the caller's register is not known */
    SONDE_STEP_SIGNAL, /* the caller was interrupted: its rip is no return address */
    SONDE_STEP_KINDS,
};
#define SONDE_STEP(kind, reg, number)                                                                                  \
    ((unsigned long long)(kind) | (unsigned long long)(reg) << 8 | (unsigned long long)(number) << 16)
#define SONDE_STEP_KIND(step) ((step) & 0xff)
#define SONDE_STEP_REGISTER_OF(step) ((step) >> 8 & 0x1f)
#define SONDE_STEP_NUMBER_OF(step) ((long long)(step) >> 16)
enum { SONDE_STEPS_MOST = 128, SONDE_STEP_WORDS = 16 }; /* that a program may take; of its stack, a power of two */

#endif
