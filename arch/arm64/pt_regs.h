/* Offsets in the kernel's struct pt_regs of arm64 (arch/arm64/include/asm/ptrace.h), in bytes. */
#pragma once

enum { /* by role; x0 to x30 are at 8 times their numbers */
       SONDE_REGS_FP = 232,
       SONDE_REGS_LR = 240,
       SONDE_REGS_SP = 248,
       SONDE_REGS_PC = 256,
       SONDE_REGS_FLAGS = 264,   /* PSTATE */
       SONDE_REGS_ORIG_X0 = 272, /* the first argument of a system call, which its result overwrites in x0 */
       SONDE_REGS_SYSCALL = 280, /* 4 bytes: the number of the system call, or -1 */
       SONDE_REGS_MODE = SONDE_REGS_FLAGS,
       SONDE_REGS_ARGUMENT1 = 0, /* of functions */
       SONDE_REGS_ARGUMENT2 = 8,
       SONDE_REGS_ARGUMENT3 = 16,
       SONDE_REGS_ARGUMENT4 = 24,
       SONDE_REGS_ARGUMENT5 = 32,
       SONDE_REGS_CALL_RESULT = 0, /* of system calls; it overwrites the first argument */
       SONDE_REGS_KEPT1 = SONDE_REGS_ORIG_X0,
       SONDE_REGS_NARROW1 = 0,
       SONDE_REGS_NARROW2 = 8,
       SONDE_REGS_NARROW5 = 32,
       SONDE_REGS_PHP_FRAME = 216, /* in PHP's loop, as gcc compiles it (Zend/zend_execute.c) */
       SONDE_REGS_PHP_INSTRUCTION = 224,
       SONDE_REGS_JAVA_BYTECODE = 176 /* in the interpreter of HotSpot */
};

/* The registers of a call's arguments are in this part. */
enum { SONDE_CALL_REGISTERS = 0, SONDE_CALL_REGISTERS_BYTES = 48 };
/* Where the arguments of system calls are, also after the call: in 32-bit programs, and in 64-bit programs. */
#define SONDE_NARROW_ARGUMENTS SONDE_REGS_ORIG_X0, 8, 16, 24, 32, 40
#define SONDE_WIDE_ARGUMENTS SONDE_NARROW_ARGUMENTS
/* Where those of 64-bit programs are before the call: words of that part. */
#define SONDE_CALL_ARGUMENTS 0, 1, 2, 3, 4, 5

/* Bits of PSTATE (uapi/asm/ptrace.h): the exception level, and the 32-bit mode. */
enum { SONDE_MODE_LEVEL = 0xc, SONDE_MODE_32_BIT = 0x10 };
static inline int sonde_is_user_mode(unsigned long long mode) { return (mode & SONDE_MODE_LEVEL) == 0; }
static inline int sonde_is_wide_mode(unsigned long long mode) { return (mode & SONDE_MODE_32_BIT) == 0; }
static inline int sonde_is_32_bit_mode(unsigned long long mode) { return (mode & SONDE_MODE_32_BIT) != 0; }

/* Whether the two bytes before a place are the end of an instruction that enters the kernel: the upper half of svc. */
static inline int sonde_is_system_call(unsigned short code) { return code == 0xd400; }

/* Whether a system call creates a thread or a process: clone() or clone3(), with the numbers of 64-bit and of 32-bit
 * programs. */
static inline int sonde_is_clone(unsigned long long number, unsigned long long mode) {
    return number == 435 || number == (sonde_is_32_bit_mode(mode) ? 120 : 220);
}
/* Whether a system call replaces the program: execve() or execveat(). */
static inline int sonde_is_exec(unsigned long long number, unsigned long long mode) {
    return sonde_is_32_bit_mode(mode) ? number == 11 || number == 387 : number == 221 || number == 281;
}

/* Facts about the kernel for code that BPF programs share. */
/* The address that an access uses: the processor ignores the upper 8 bits, in which programs keep tags
 * (Documentation/arch/arm64/tagged-pointers.rst). The kernel's helpers refuse addresses with a tag. */
static inline unsigned long long sonde_whole_address(unsigned long long address) {
    return (unsigned long long)((long long)(address << 8) >> 8);
}
enum {
    SONDE_COMPAT_CALL = 0
}; /* 32-bit programs make 32-bit calls only, so no flag in thread_info tells the calls apart */
/* The thread pointer in struct thread_struct, and the members that lead to it. Programs can change the register
 * themselves. The kernel then stores it when the thread leaves the processor (tls_preserve_current_state()), so it is 0
 * in a program that has begun since. */
#define SONDE_THREAD_POINTER uw.tp_value
#define SONDE_THREAD_MEMBERS                                                                                           \
    struct {                                                                                                           \
        unsigned long long tp_value;                                                                                   \
    } uw
/* The kernel's memory (Documentation/arch/arm64/memory.rst): the linear map of physical memory begins here with 52 bits
 * of virtual addresses, and at 0xffff000000000000 with 48 bits. The numbers of its pages are not computed, because they
 * depend on the size of a page and on where physical memory begins. The places of modules and BPF programs differ
 * between kernels. */
#define SONDE_DIRECT_MAP 0xfff0000000000000ull
#define SONDE_DIRECT_MAP_BYTES 0
#define SONDE_DIRECT_MAP_END 0xffff800000000000ull
#define SONDE_MODULES 0
