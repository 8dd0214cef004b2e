/* Tables with which handlers in the kernel unwind stacks and find symbols: one table for each program or library.
 *
 * The idea: BPF programs cannot parse ELF and DWARF. So the runtime compiles a file's unwind rules, symbols and lines
 * to sorted rows (symbols/table.cc), and handlers find a row by binary search (codegen/rtlib). Positions are file
 * offsets. A process' mappings translate an address to a file offset, so one table serves all processes, whatever the
 * load address.
 *
 * A table is an array map with elements of 64 bits. It is the value for the file's inode in the map of maps
 * `sonde_files`. C, because codegen/rtlib and the runtime include it.
 *
 * A table consists of these parts. Each part except the head and the rows with a struct has one element per entry:
 *
 * - head: struct sonde_table_head, SONDE_TABLE_HEAD elements
 * - unwind rows: the offset, and the rule from this offset on (packed, see below)
 * - symbol rows: struct sonde_table_row, two elements each; value: the symbol's size
 * - line rows: struct sonde_table_row, two elements each; value: the line, or 0 if there is no line from here on
 * - inlined rows: struct sonde_table_row, two elements each; text: the chain of the innermost inlined function
 * - chains: the function's text in the lower half; in the upper half the chain of the enclosing function if that one is
 *   also inlined, or 0
 * - saves rows: the offset, and where functions have saved registers from here on (packed, see below)
 * - steps: the instructions of the programs of SONDE_RULE_STEPS rules
 * - texts: NUL-terminated; rows refer to a text by its first element
 */
#ifndef SONDE_FILE_TABLE_H
#define SONDE_FILE_TABLE_H

#include "../../arch/host/unwind_registers.h"

struct sonde_table_head {
    unsigned unwind, symbols, lines; /* number of rows */
    unsigned path;                   /* element of the file's name */
    unsigned size;                   /* size of the part that processes map, in bytes */
    unsigned name;                   /* element of the file's name without the folder */
    unsigned shift;                  /* from a file offset in the code to the distance from the first mapped byte */
    unsigned inlined;                /* number of rows */
    unsigned build_id;               /* element of the file's build-id in hexadecimal */
    unsigned saves;                  /* number of rows */
    unsigned first_save;             /* element of the first row */
    unsigned first_step;             /* element of the first step */
    unsigned interpreter;            /* an interpreter: SONDE_TABLE_INTERPRETER(); 0: another file */
    unsigned interpreter_loop;       /* the linked address of its loop */
};
struct sonde_table_row {
    unsigned place, value;
    unsigned text;  /* element of the text; 0: none */
    unsigned owner; /* kernel: element of the module's name; programs: row of the enclosing function; 0: none */
};
enum {
    SONDE_TABLE_HEAD = sizeof(struct sonde_table_head) / 8,
    SONDE_TABLE_INTERPRETERS = SONDE_TABLE_HEAD - 1, /* the element with `interpreter` and `interpreter_loop` */
    SONDE_TABLE_FLAGS = 1 << 12 | 1 << 10,           /* BPF_F_INNER_MAP (5.10), BPF_F_MMAPABLE (5.5) */
    SONDE_TABLE_ROW = sizeof(struct sonde_table_row) / 8,
};

/* An interpreter: its sonde_language, and its element of the language's map. */
#define SONDE_TABLE_INTERPRETER(language, element) ((unsigned)(language) << 16 | ((unsigned)(element) + 1))
#define SONDE_TABLE_LANGUAGE_OF(interpreter) ((interpreter) >> 16)
#define SONDE_TABLE_ELEMENT_OF(interpreter) (((interpreter) & 0xffff) - 1)

/* How to find the caller's registers. A rule has 32 bits: 4 for the kind, 17 for `cfa`, a flag, and 10 for `fp`. `cfa`
 * and `fp` are in words. The caller's fp is saved `fp` words below the CFA; 0: fp is unchanged. The flag marks the loop
 * of an interpreter, in rules without a program.
 *
 * If calls store the return address on the stack, it is the word below the CFA. If they store it in a link register
 * (SONDE_HAS_LINK), functions save it in the word above the saved fp; other places have kinds of their own. */
enum sonde_rule_kind {
    SONDE_RULE_NONE,       /* no rule is known; a `cfa` other than 0: fp is a frame pointer */
    SONDE_RULE_SP,         /* CFA = sp + cfa */
    SONDE_RULE_FP,         /* CFA = fp + cfa */
    SONDE_RULE_END,        /* the outermost function */
    SONDE_RULE_UNKNOWN,    /* a rule that a table cannot express */
    SONDE_RULE_STEPS,      /* all other rules: a program that begins at step SONDE_RULE_STEP() */
    SONDE_RULE_LINK,       /* CFA = sp + cfa; the return address is in the link register */
    SONDE_RULE_ALONE,      /* CFA = sp + cfa; the return address is saved `fp` words below the CFA; fp is unchanged */
    SONDE_RULE_NARROW = 8, /* a flag: words have 4 bytes instead of 8 */
};
#define SONDE_RULE(kind, cfa, fp) ((unsigned)(kind) | (unsigned)(cfa) << 4 | (unsigned)(fp) << 22)
#define SONDE_RULE_KIND(rule) ((rule) & 7)
#define SONDE_RULE_CFA(rule) (((rule) >> 4) & 0x1ffff)
#define SONDE_RULE_SAVED_FP(rule) (((rule) >> 22) & 0x3ff)
#define SONDE_RULE_STEP(rule) ((rule) >> 4)
/* A value of `fp` for Go, whose tables do not describe where it saves fp: if fp points to 2 words below the CFA, the
 * caller's fp is saved there. Otherwise fp is unchanged. With a link register, the return address is at sp, and the
 * word below sp is the place for the caller's fp. */
#define SONDE_RULE_INTERPRETER (1u << 21)
enum { SONDE_RULE_CFA_MOST = 0x1ffff, SONDE_RULE_FP_MOST = 0x3fe, SONDE_RULE_FP_OF_GO = 0x3ff };

/* The callee-saved registers other than the frame pointer. A row has 6 bits for each: the number of words below the CFA
 * where it is saved. */
enum {
    SONDE_SAVED_MOST = 5,
    SONDE_SAVED_SAME = 0,
    SONDE_SAVED_UNKNOWN = 63,
    SONDE_SAVED_BEYOND = 1 << 30, /* a flag: registers that a row does not cover (SONDE_BEYOND_SAVES) are unknown */
};
#define SONDE_SAVED_WORDS(saves, n) ((saves) >> 6 * (n) & 63)
/* The sonde_register of the n'th one. */
#define SONDE_SAVED_REGISTER(narrow, n) (((narrow) ? SONDE_SAVED_NARROW : SONDE_SAVED_WIDE) >> 5 * (n) & 31)

/* A program for rules that do not fit in 32 bits. It works on a stack of words, and sets the caller's registers.
 * Registers that it does not set are unchanged; the caller's sp is the CFA. A step has 8 bits for the kind, 8 for a
 * register and 48 for a signed number. */
enum sonde_step_kind {
    SONDE_STEP_END,
    SONDE_STEP_REST,     /* the following steps set other registers than pc, sp and fp */
    SONDE_STEP_NUMBER,   /* push the number */
    SONDE_STEP_REGISTER, /* push the sum of register and number */
    SONDE_STEP_CFA,      /* push the sum of CFA and number */
    SONDE_STEP_ADD,      /* add the number to the top */
    SONDE_STEP_READ,     /* replace the top by the memory at this address; the number is the size in bytes */
    SONDE_STEP_PICK,     /* push a copy of the n'th word from the top */
    SONDE_STEP_DROP,
    SONDE_STEP_SWAP,
    SONDE_STEP_ROTATE, /* move the top below the next two words */
    SONDE_STEP_NEGATE,
    SONDE_STEP_NOT,
    SONDE_STEP_ABSOLUTE,
    SONDE_STEP_PLUS, /* from here on: operators on the word below the top and the top */
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
    SONDE_STEP_JUMP,   /* skip as many steps as the number */
    SONDE_STEP_BRANCH, /* the same if the top is not 0 */
    SONDE_STEP_SET_CFA,
    SONDE_STEP_SET,    /* set the caller's register to the top */
    SONDE_STEP_FORGET, /* the caller's register is unknown */
    SONDE_STEP_SIGNAL, /* the caller was interrupted by a signal: its pc is not a return address */
    SONDE_STEP_KINDS,
};
#define SONDE_STEP(kind, reg, number)                                                                                  \
    ((unsigned long long)(kind) | (unsigned long long)(reg) << 8 | (unsigned long long)(number) << 16)
#define SONDE_STEP_KIND(step) ((step) & 0xff)
#define SONDE_STEP_REGISTER_OF(step) ((step) >> 8 & 0xff)
#define SONDE_STEP_NUMBER_OF(step) ((long long)(step) >> 16)
enum { SONDE_STEPS_MOST = 128, SONDE_STEP_WORDS = 16 }; /* executed steps; size of the stack in words, a power of two */

#endif
