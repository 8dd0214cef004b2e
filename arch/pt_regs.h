/* Offsets in the kernel's struct pt_regs, for code that BPF programs share. Other code has them in arch/registers.h. */
#pragma once

#include "x86_64/pt_regs.h"
