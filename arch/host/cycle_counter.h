// Reads the processor's cycle counter, as BPF programs of the kernel do.
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arch/arm64/cycle_counter.h"
#else
#include "arch/x86_64/cycle_counter.h"
#endif
