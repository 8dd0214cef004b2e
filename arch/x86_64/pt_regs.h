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

/* The registers of a call's arguments are in this part, which begins with SONDE_REGS_R10. */
enum { SONDE_CALL_REGISTERS = SONDE_REGS_R10, SONDE_CALL_REGISTERS_BYTES = SONDE_REGS_ORIG_AX - SONDE_REGS_R10 };

/* The same by their roles. The mode tells the programs of threads apart. */
enum {
    SONDE_REGS_SYSCALL = SONDE_REGS_ORIG_AX,
    SONDE_REGS_PC = SONDE_REGS_IP,
    SONDE_REGS_FP = SONDE_REGS_BP,
    SONDE_REGS_MODE = SONDE_REGS_CS,
    SONDE_REGS_ARGUMENT1 = SONDE_REGS_DI, /* of functions */
    SONDE_REGS_ARGUMENT2 = SONDE_REGS_SI,
    SONDE_REGS_ARGUMENT3 = SONDE_REGS_DX,
    SONDE_REGS_ARGUMENT4 = SONDE_REGS_CX,
    SONDE_REGS_ARGUMENT5 = SONDE_REGS_R8,
    SONDE_REGS_CALL_RESULT = SONDE_REGS_AX, /* of system calls, after their instruction */
    SONDE_REGS_KEPT1 = SONDE_REGS_DI,       /* the first argument, which is still there */
    SONDE_REGS_NARROW1 = SONDE_REGS_BX,     /* of system calls in the 32-bit mode */
    SONDE_REGS_NARROW2 = SONDE_REGS_CX,
    SONDE_REGS_NARROW5 = SONDE_REGS_DI,
    SONDE_REGS_PHP_FRAME = SONDE_REGS_R14, /* in PHP's loop, as gcc compiles it (Zend/zend_execute.c) */
    SONDE_REGS_PHP_INSTRUCTION = SONDE_REGS_R15,
    SONDE_REGS_JAVA_BYTECODE = SONDE_REGS_R13 /* in the interpreter of HotSpot */
};
/* Where the arguments of system calls are, also after the call: in the 32-bit mode, and in 64-bit programs. */
#define SONDE_NARROW_ARGUMENTS SONDE_REGS_BX, SONDE_REGS_CX, SONDE_REGS_DX, SONDE_REGS_SI, SONDE_REGS_DI, SONDE_REGS_BP
#define SONDE_WIDE_ARGUMENTS SONDE_REGS_DI, SONDE_REGS_SI, SONDE_REGS_DX, SONDE_REGS_R10, SONDE_REGS_R8, SONDE_REGS_R9
/* Where those of 64-bit programs are before the call: words of the part of SONDE_CALL_REGISTERS_BYTES. */
#define SONDE_CALL_WORD(offset) (((offset) - SONDE_REGS_R10) / 8)
#define SONDE_CALL_ARGUMENTS                                                                                           \
    SONDE_CALL_WORD(SONDE_REGS_DI), SONDE_CALL_WORD(SONDE_REGS_SI), SONDE_CALL_WORD(SONDE_REGS_DX),                    \
        SONDE_CALL_WORD(SONDE_REGS_R10), SONDE_CALL_WORD(SONDE_REGS_R8), SONDE_CALL_WORD(SONDE_REGS_R9)

/* The code segments of 64-bit and 32-bit programs, whose two lowest bits are the privilege level
 * (arch/x86/include/asm/segment.h). */
enum { SONDE_USER_CS = 0x33, SONDE_USER32_CS = 0x23, SONDE_CS_PRIVILEGE = 3, SONDE_CS_BITS = 0xffff };
static inline int sonde_is_user_mode(unsigned long long mode) {
    return (mode & SONDE_CS_PRIVILEGE) == SONDE_CS_PRIVILEGE;
}
static inline int sonde_is_wide_mode(unsigned long long mode) { return (mode & SONDE_CS_BITS) == SONDE_USER_CS; }
static inline int sonde_is_32_bit_mode(unsigned long long mode) { return (mode & SONDE_CS_BITS) == SONDE_USER32_CS; }

/* Whether the two bytes before a place (the first one in the lower half) are the end of an instruction that enters the
 * kernel: syscall, sysenter or int $0x80. */
static inline int sonde_is_system_call(unsigned short code) {
    return code == 0x050f || code == 0x340f || code == 0x80cd;
}

/* Whether a system call creates a thread or a process: clone() or clone3(), with the numbers of 64-bit and of 32-bit
 * programs (syscall_64.tbl, syscall_32.tbl). */
static inline int sonde_is_clone(unsigned long long number, unsigned long long mode) {
    return number == 435 || number == (sonde_is_32_bit_mode(mode) ? 120 : 56);
}
/* Whether a system call replaces the program: execve() or execveat(). */
static inline int sonde_is_exec(unsigned long long number, unsigned long long mode) {
    return sonde_is_32_bit_mode(mode) ? number == 11 || number == 358 : number == 59 || number == 322;
}

/* Facts about the kernel for code that BPF programs share. */
static inline unsigned long long sonde_whole_address(unsigned long long address) { return address; }
enum { SONDE_COMPAT_CALL = 2 }; /* TS_COMPAT in thread_info.status (arch/x86/include/asm/thread_info.h) */
/* The thread pointer in struct thread_struct, and the members that lead to it. */
#define SONDE_THREAD_POINTER fsbase
#define SONDE_THREAD_MEMBERS unsigned long long fsbase
/* The kernel's memory (Documentation/arch/x86/x86_64/mm.rst): the direct map of physical memory with 4-level page
 * tables, an address after its last place, and modules and BPF programs. */
#define SONDE_DIRECT_MAP 0xffff888000000000ull
#define SONDE_DIRECT_MAP_BYTES (1ull << 46)
#define SONDE_DIRECT_MAP_END 0xffffc90000000000ull
#define SONDE_MODULES 0xffffffffc0000000ull
