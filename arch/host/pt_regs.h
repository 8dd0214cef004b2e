/* Offsets in the kernel's struct pt_regs, and facts about the kernel, for code that BPF programs share. C++ code has
 * them in arch/registers.h. */
#pragma once

#include "../x86_64/pt_regs.h"
