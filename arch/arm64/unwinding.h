// See arch/unwinding.h.
#pragma once

#include "arch/unwinding.h"

namespace sonde::arm64 {

const UnwindTraits& unwind_traits();

} // namespace sonde::arm64
