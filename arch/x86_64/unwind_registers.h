#pragma once

/* Numbers of registers, in the order of struct pt_regs. */
enum sonde_register { SONDE_FP = 4, SONDE_PC = 16, SONDE_SP = 19 };
/* The registers that are read from struct pt_regs, and how many of them rules may set besides pc and sp. */
enum { SONDE_REGISTERS_READ = 20, SONDE_REGISTERS_SET = 15 };
/* The other callee-saved registers: rbx, r12 to r15; in 32-bit code ebx, esi, edi. These are the sonde_register of the
 * n'th one, with 5 bits for each. No others exist. */
#define SONDE_SAVED_WIDE (5u | 3u << 5 | 2u << 10 | 1u << 15 | 0u << 20)
#define SONDE_SAVED_NARROW (5u | 13u << 5 | 14u << 10 | 31u << 15 | 31u << 20)
#define SONDE_BEYOND_SAVES 0ull
/* Calls store the return address on the stack, so no register is set to it. */
enum { SONDE_HAS_LINK = 0, SONDE_LINK = 0 };
