#pragma once

/* Numbers of registers, in the order of struct pt_regs: x0 to x30 have their own numbers. */
enum sonde_register { SONDE_FP = 29, SONDE_SP = 31, SONDE_PC = 32 };
/* The registers that are read from struct pt_regs, and how many of them rules may set besides pc and sp. */
enum { SONDE_REGISTERS_READ = 33, SONDE_REGISTERS_SET = 31 };
/* The other callee-saved registers: x19 to x23 have 5 bits each. The set of the others: x24 to x28. */
#define SONDE_SAVED_WIDE (19u | 20u << 5 | 21u << 10 | 22u << 15 | 23u << 20)
#define SONDE_SAVED_NARROW SONDE_SAVED_WIDE
#define SONDE_BEYOND_SAVES 0x1f000000ull
/* Calls store the return address in x30. */
enum { SONDE_HAS_LINK = 1, SONDE_LINK = 30 };
