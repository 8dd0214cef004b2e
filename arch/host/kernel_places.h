/* Where the kernel and its modules are. C, because codegen/rtlib includes it. */
#pragma once

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "../arm64/kernel_places.h"
#else
#include "../x86_64/kernel_places.h"
#endif
