#pragma once

#include "arch/value_passing.h"

namespace sonde::arm64 {

// Decides how a value is passed (AAPCS64, sections 6.8.2 and 6.9).
PassedValue passed(const ValueShape& shape);

} // namespace sonde::arm64
