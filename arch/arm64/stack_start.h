/* How a stack begins where a task entered the kernel. C for BPF: included by codegen/rtlib/stack.bpf.c. */
#pragma once

/* The part of struct pt_regs that is read, and its words. */
enum {
    SONDE_ENTRY_FIRST = SONDE_REGS_FP,
    SONDE_ENTRY_LINK = 1,
    SONDE_ENTRY_SP = 2,
    SONDE_ENTRY_PC = 3,
    SONDE_ENTRY_MODE = 4,
    SONDE_ENTRY_ARGUMENT1 = 5,
    SONDE_ENTRY_NUMBER = 6,
    SONDE_ENTRY_WORDS = 7
};
/* The number of the system call; negative if the task did not enter the kernel by one. The upper half of the word has
 * another meaning. */
static inline s64 sonde_entry_number(u64 word) { return (s32)word; }
/* Whether a task that clone() or clone3() has just created has a stack of its own. Its registers are those of its
 * parent, also the link register. So the argument for the stack decides: the second one of clone(), or two members of
 * the structure of clone3() (uapi/linux/sched.h). */
static inline u64 sonde_has_new_stack(const u64* saved, const u8* registers) {
    enum { CLONE3 = 435, STACK = 40 };
    u64 place[2] = {};
    if ((s32)saved[SONDE_ENTRY_NUMBER] == CLONE3)
        bpf_probe_read_user(place, sizeof place, (const void*)(saved[SONDE_ENTRY_ARGUMENT1] + STACK));
    else
        bpf_probe_read_kernel(place, 8, registers + SONDE_REGS_ARGUMENT2);
    return place[0] != 0 && place[0] + place[1] == saved[SONDE_ENTRY_SP];
}
