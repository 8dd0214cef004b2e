// Expectations about programs that the build's own compilers made for its architecture: places of values, sizes of
// instructions.
#pragma once

#include "arch/architecture.h"
#include "arch/arm64/arm64.h"

namespace sonde {

template <typename Value> Value of_host(Value x86_64, Value arm64) {
    return &host_architecture() == &arm64_architecture() ? arm64 : x86_64;
}

inline const char* of_host(const char* x86_64, const char* arm64) { return of_host<const char*>(x86_64, arm64); }

} // namespace sonde
