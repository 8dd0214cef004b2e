#pragma once

#include "arch/value_passing.h"

namespace sonde::x86 {

// Classifies a value of a 64-bit program (System V ABI for x86-64, section 3.2.3).
PassedValue passed(const ValueShape& shape);

} // namespace sonde::x86
