/* Offsets in the kernel's struct pt_regs of x86-64 (arch/x86/include/asm/ptrace.h), in bytes. */
#pragma once

enum {
    SONDE_REGS_R15 = 0,
    SONDE_REGS_R14 = 8,
    SONDE_REGS_R13 = 16,
    SONDE_REGS_R12 = 24,
    SONDE_REGS_BP = 32,
    SONDE_REGS_BX = 40,
    SONDE_REGS_R11 = 48,
    SONDE_REGS_R10 = 56,
    SONDE_REGS_R9 = 64,
    SONDE_REGS_R8 = 72,
    SONDE_REGS_AX = 80,
    SONDE_REGS_CX = 88,
    SONDE_REGS_DX = 96,
    SONDE_REGS_SI = 104,
    SONDE_REGS_DI = 112,
    SONDE_REGS_ORIG_AX = 120, /* the system call's number */
    SONDE_REGS_IP = 128,
    SONDE_REGS_CS = 136,
    SONDE_REGS_FLAGS = 144,
    SONDE_REGS_SP = 152,
    SONDE_REGS_SS = 160
};

/* The code segment of 64-bit programs. Its two lowest bits are the privilege level (arch/x86/include/asm/segment.h). */
enum { SONDE_USER_CS = 0x33, SONDE_CS_PRIVILEGE = 3 };
enum { SONDE_CARRY_FLAG = 1, SONDE_ZERO_FLAG = 0x40 }; /* in SONDE_REGS_FLAGS */
