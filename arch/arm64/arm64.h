// The architecture arm64 (AArch64, ARMv8-A and later).
#pragma once

#include "arch/architecture.h"

namespace sonde {

const Architecture& arm64_architecture();

} // namespace sonde
