/* The registers that unwinding in BPF programs tracks. C, because codegen/rtlib includes it. */
#pragma once

/* The slots for registers, in the layout of every architecture: a power of two, and more than any has registers. */
enum { SONDE_REGISTERS = 64 };

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "../arm64/unwind_registers.h"
#else
#include "../x86_64/unwind_registers.h"
#endif
