/* How system calls of 32-bit programs differ, for code that BPF programs share. */
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "../arm64/calls_32.h"
#else
#include "../x86_64/calls_32.h"
#endif
