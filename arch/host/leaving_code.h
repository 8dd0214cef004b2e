/* Code that leaves a function. C for BPF: included by codegen/rtlib/stack.bpf.c, after struct sonde_machine. */
#pragma once

#include "../x86_64/leaving_code.h"
