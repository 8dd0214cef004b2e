// What the kinds of probe points in the kernel share. Private to frontend/probes.
#pragma once

#include "frontend/probes/kinds.h"

namespace sonde {

// The running kernel's types; null after a report.
KernelTypes* open_kernel(Resolving& resolving);

// True if the point begins with `kernel`; false and a report if that has an argument.
bool expect_kernel(Resolving& resolving);

// kind_kernel_debug.cc: true for points after `kernel` or `module("m")` that are not to be found without debug
// information.
bool needs_debug_info(Resolving& resolving);
std::vector<ResolvedPoint> resolve_kernel_debug(Resolving& resolving);
std::vector<ResolvedPoint> resolve_module_debug(Resolving& resolving);

} // namespace sonde
