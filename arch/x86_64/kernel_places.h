/* Where the kernel and its modules are. */
#pragma once

/* No code is below this address. It is at most 4 GB before all code, so it is where places in the kernel begin. */
#define SONDE_KERNEL_LOWEST 0xffffffff80000000ull
enum { SONDE_KERNEL_MOVES = 0 };
