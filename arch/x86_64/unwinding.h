// See arch/unwinding.h.
#pragma once

#include "arch/unwinding.h"
#include "arch/x86_64/decode.h"

namespace sonde::x86 {

const UnwindTraits& unwind_traits(X86Mode mode);

} // namespace sonde::x86
