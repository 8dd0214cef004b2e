// Reads the processor's cycle counter, as BPF programs of the kernel do.
#pragma once

#include "arch/x86_64/cycle_counter.h"
