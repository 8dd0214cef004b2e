#pragma once

/* Numbers of registers, in the order of struct pt_regs. */
enum sonde_register { SONDE_FP = 4, SONDE_PC = 16, SONDE_SP = 19, SONDE_REGISTERS = 32 };
/* The other callee-saved registers: rbx, r12 to r15; in 32-bit code ebx, esi, edi. These are the sonde_register of the
 * n'th one, with 5 bits for each. */
#define SONDE_SAVED_WIDE (5u | 3u << 5 | 2u << 10 | 1u << 15 | 0u << 20)
#define SONDE_SAVED_NARROW (5u | 13u << 5 | 14u << 10 | 31u << 15 | 31u << 20)
