/* How a user stack begins where a task entered the kernel. C for BPF: included by codegen/rtlib/stack.bpf.c. */
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "../arm64/stack_start.h"
#else
#include "../x86_64/stack_start.h"
#endif
