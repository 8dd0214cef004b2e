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
    unsigned unused;
};
struct sonde_table_row {
    unsigned place, value;
    unsigned text;  /* element; 0: none */
    unsigned owner; /* element: the module that has it, of the kernel's symbols */
};
enum {
    SONDE_TABLE_HEAD = sizeof(struct sonde_table_head) / 8,
    SONDE_TABLE_FLAGS = 1 << 12 | 1 << 10, /* BPF_F_INNER_MAP (5.10), BPF_F_MMAPABLE (5.5) */
    SONDE_TABLE_ROW = sizeof(struct sonde_table_row) / 8,
};

/* How the caller's registers are found. A rule has 32 bits: 4 of kind, 18 of `cfa` and 10 of `rbp`, both in words. The
 * return address lies below the CFA. The caller's rbp lies `rbp` below the CFA; 0: it is unchanged. */
enum sonde_rule_kind {
    SONDE_RULE_NONE,    /* nothing is known there */
    SONDE_RULE_RSP,     /* CFA = rsp + cfa */
    SONDE_RULE_RBP,     /* CFA = rbp + cfa */
    SONDE_RULE_PLT,     /* CFA = rsp + 8, or + 16 in an entry's last bytes: from byte `cfa` (as a count) of 16 on */
    SONDE_RULE_REALIGN, /* CFA = what lies `cfa` below rbp; the caller's rbp lies at rbp */
    SONDE_RULE_SIGNAL,  /* the kernel's signal frame: all registers lie at rsp */
    SONDE_RULE_END,     /* the outermost function */
    SONDE_RULE_UNKNOWN, /* a rule that this cannot express */
    SONDE_RULE_NARROW,  /* added: words have 4 bytes, not 8 */
};
#define SONDE_RULE(kind, cfa, rbp) ((unsigned)(kind) | (unsigned)(cfa) << 4 | (unsigned)(rbp) << 22)
#define SONDE_RULE_KIND(rule) ((rule) & 15)
#define SONDE_RULE_CFA(rule) (((rule) >> 4) & 0x3ffff)
#define SONDE_RULE_SAVED_RBP(rule) (((rule) >> 22) & 0x3ff)

#endif
