// The system calls of x86-64, and of 32-bit programs on it.
#pragma once

#include "arch/system_calls.h"

namespace sonde::x86 {

const SystemCalls& system_calls();

} // namespace sonde::x86
