// The system calls of arm64, and of 32-bit programs (arm, EABI) on it.
#pragma once

#include "arch/system_calls.h"

namespace sonde::arm64 {

const SystemCalls& system_calls();

} // namespace sonde::arm64
