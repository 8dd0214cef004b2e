// Functions shared by the kinds of probe points in the kernel. Private to frontend/probes.
#pragma once

#include "frontend/probes/kinds.h"

namespace sonde {

// Returns the running kernel's types, or null after reporting an error.
KernelTypes* open_kernel(Resolving& resolving);

// Whether the point begins with `kernel` without an argument. Reports an error if it has one.
bool expect_kernel(Resolving& resolving);

// kind_kernel_debug.cc: whether the point after `kernel` or `module("m")` can only be found with debug information.
bool needs_debug_info(Resolving& resolving);
// Resolve such points after `kernel`, and after `module("m")`.
std::vector<ResolvedPoint> resolve_kernel_debug(Resolving& resolving);
std::vector<ResolvedPoint> resolve_module_debug(Resolving& resolving);

} // namespace sonde
