/* System calls of 32-bit programs: those that are told by more than their number, and where each has its arguments.
 * Shared with the routines that find them (codegen/rtlib/calls.bpf.c), so it is C. */
#pragma once

enum { /* arch/x86/entry/syscalls/syscall_32.tbl */
       SONDE_CALL_OLD_SELECT = 82,
       SONDE_CALL_OLD_MMAP = 90,
       SONDE_CALL_SOCKETCALL = 102,
       SONDE_CALL_IPC = 117
};
/* What socketcall() and ipc() do, and the two calls whose arguments are an array: in plans they have numbers of their
 * own. */
enum {
    SONDE_INNER_CALLS = 512,
    SONDE_INNER_SELECT = SONDE_INNER_CALLS,  /* no socketcall() has the number 0 */
    SONDE_INNER_SOCKETS = SONDE_INNER_CALLS, /* and SYS_SOCKET to SYS_SENDMMSG of linux/net.h: 1 to 20 */
    SONDE_INNER_MMAP = SONDE_INNER_CALLS + 31,
    SONDE_INNER_IPC = SONDE_INNER_CALLS + 32,        /* and SEMOP to SHMCTL of linux/ipc.h: 1 to 24 */
    SONDE_INNER_NEW_MSGRCV = SONDE_INNER_CALLS + 62, /* whose arguments are not in a structure */
    SONDE_INNER_COUNT = 64
};

/* Where an argument is, in a byte: a way, and the register or word from 0 on. Six bytes are a call's, the first
 * argument in the lowest; 64-bit programs have six registers too. */
enum {
    SONDE_ARGUMENT_REGISTER = 0,  /* 32 bits of ebx, ecx, edx, esi, edi, ebp */
    SONDE_ARGUMENT_SIGNED = 0x20, /* the same with a sign */
    SONDE_ARGUMENT_ID = 0x40,     /* 16 bits of it, all set for -1: a user's or group's number */
    SONDE_ARGUMENT_PAGES = 0x60,  /* a number of pages of 4096 bytes */
    SONDE_ARGUMENT_PAIR = 0x80,   /* the lower half, the upper one in the next register */
    SONDE_ARGUMENT_WORD = 0xa0,   /* a word of the call's array */
    SONDE_ARGUMENT_SIGNED_WORD = 0xc0,
    SONDE_ARGUMENT_NOWHERE = 0xe0, /* 0 */
    SONDE_ARGUMENT_MASK = 0xe0
};
