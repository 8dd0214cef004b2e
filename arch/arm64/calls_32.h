/* System calls of 32-bit programs. No call of the EABI is a multiplexer or passes its arguments in an array, so these
 * are numbers that no call has. */
#pragma once

#include "../narrow_arguments.h"

enum {
    SONDE_CALL_OLD_SELECT = 0x7fffffff,
    SONDE_CALL_OLD_MMAP = 0x7fffffff,
    SONDE_CALL_SOCKETCALL = 0x7fffffff,
    SONDE_CALL_IPC = 0x7fffffff
};
