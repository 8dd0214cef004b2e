/* How system calls of 32-bit programs differ, for code that BPF programs share. */
#pragma once

#include "../x86_64/calls_32.h"
