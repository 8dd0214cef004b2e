/* Code that leaves a function. C for BPF: included by codegen/rtlib/stack.bpf.c, after struct sonde_machine. */
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "../arm64/leaving_code.h"
#else
#include "../x86_64/leaving_code.h"
#endif
