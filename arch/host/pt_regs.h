/* Offsets in the kernel's struct pt_regs, and facts about the kernel, for code that BPF programs share. C++ code has
 * them in arch/registers.h. */
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "../arm64/pt_regs.h"
#else
#include "../x86_64/pt_regs.h"
#endif
