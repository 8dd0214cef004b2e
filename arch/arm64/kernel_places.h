/* Where the kernel and its modules are. */
#pragma once

/* No code is below this address. The kernel is loaded anywhere behind it, with its modules at most 2 GB away
 * (arch/arm64/kernel/module.c). */
#define SONDE_KERNEL_LOWEST 0xffff000000000000ull
enum { SONDE_KERNEL_MOVES = 1 };
