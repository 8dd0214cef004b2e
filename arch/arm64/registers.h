// The registers of arm64, with their roles in calls of C (AAPCS64) and of Go.
#pragma once

#include <cstdint>
#include <string>

#include "arch/registers.h"

namespace sonde::arm64 {

// DWARF numbers (DWARF for the Arm 64-bit Architecture, section 4.1). x0 to x30 have the numbers 0 to 30.
enum : int { x0, x1, x2, x3, x4, x5, x6, x7, x8, fp = 29, lr = 30, sp = 31, pc = 32 };

const RegisterFile& registers();
const GoConvention& go_convention();
std::string unreadable_register(uint64_t number);

} // namespace sonde::arm64
