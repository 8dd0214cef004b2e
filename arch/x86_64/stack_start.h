/* How a stack begins where a task entered the kernel. C for BPF: included by codegen/rtlib/stack.bpf.c. */
#pragma once

/* The part of struct pt_regs that is read, and its words. */
enum {
    SONDE_ENTRY_FIRST = SONDE_REGS_SYSCALL,
    SONDE_ENTRY_NUMBER = 0,
    SONDE_ENTRY_PC = 1,
    SONDE_ENTRY_MODE = 2,
    SONDE_ENTRY_SP = 4,
    SONDE_ENTRY_LINK = 0, /* unused: no link register */
    SONDE_ENTRY_WORDS = 5
};
/* The number of the system call; negative if the task did not enter the kernel by one. */
static inline s64 sonde_entry_number(u64 word) { return (s64)word; }
/* Whether a task that clone() has just created has a stack of its own. Its memory shows that here. */
static inline u64 sonde_has_new_stack(const u64* saved, const u8* registers) {
    (void)saved;
    (void)registers;
    return 1;
}
