/* System calls of 32-bit programs. Some of them are multiplexers: one number stands for many calls, and an argument
 * selects the call (socketcall(2), ipc(2)). Others pass their arguments in an array. Shared with the code that finds
 * them (codegen/rtlib/calls.bpf.c), so it is C. */
#pragma once

#include "../narrow_arguments.h"

enum { /* arch/x86/entry/syscalls/syscall_32.tbl */
       SONDE_CALL_OLD_SELECT = 82,
       SONDE_CALL_OLD_MMAP = 90,
       SONDE_CALL_SOCKETCALL = 102,
       SONDE_CALL_IPC = 117
};
