/* The registers that unwinding in BPF programs tracks. C, because codegen/rtlib includes it. */
#pragma once

#include "../x86_64/unwind_registers.h"
