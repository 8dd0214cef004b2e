// The registers of x86-64 and i386, and their roles in calls.
#pragma once

#include <string>

#include "arch/registers.h"

namespace sonde::x86 {

const RegisterFile& wide_registers();
const RegisterFile& narrow_registers();
const GoConvention& go_convention();
// See Architecture. The numbers of i386 are those in System V ABI for Intel386, table 2.14.
uint64_t register_of_i386(uint64_t dwarf_number);
std::string unreadable_register(uint64_t number);

} // namespace sonde::x86
