/* Where system calls of 32-bit programs have their arguments, and numbers of calls inside of others. Shared with the
 * code that finds them (codegen/rtlib/calls.bpf.c), so it is C. */
#pragma once

/* The place of an argument, in a byte: the upper bits are one of these constants, the lower ones the number of the
 * register or array element. A call has six bytes, the first argument in the lowest byte. 64-bit programs also have six
 * registers. */
enum {
    SONDE_ARGUMENT_REGISTER = 0,  /* 32 bits of a register for arguments */
    SONDE_ARGUMENT_SIGNED = 0x20, /* the same, sign-extended */
    SONDE_ARGUMENT_ID = 0x40,     /* its lower 16 bits, but -1 if all are set: a user's or group's number */
    SONDE_ARGUMENT_PAGES = 0x60,  /* a number of pages of 4096 bytes */
    SONDE_ARGUMENT_PAIR = 0x80,   /* the lower half; the upper half is in the next register */
    SONDE_ARGUMENT_WORD = 0xa0,   /* an element of the call's array */
    SONDE_ARGUMENT_SIGNED_WORD = 0xc0,
    SONDE_ARGUMENT_NOWHERE = 0xe0, /* the argument is always 0 */
    SONDE_ARGUMENT_MASK = 0xe0
};

/* Numbers in plans for the calls inside of socketcall() and ipc(), and for the two calls whose arguments are in an
 * array. */
enum {
    SONDE_INNER_CALLS = 512,
    SONDE_INNER_SELECT = SONDE_INNER_CALLS,  /* unused, because no socketcall() has the number 0 */
    SONDE_INNER_SOCKETS = SONDE_INNER_CALLS, /* plus SYS_SOCKET to SYS_SENDMMSG of linux/net.h: 1 to 20 */
    SONDE_INNER_MMAP = SONDE_INNER_CALLS + 31,
    SONDE_INNER_IPC = SONDE_INNER_CALLS + 32,        /* plus SEMOP to SHMCTL of linux/ipc.h: 1 to 24 */
    SONDE_INNER_NEW_MSGRCV = SONDE_INNER_CALLS + 62, /* the variant without a structure */
    SONDE_INNER_COUNT = 64
};
