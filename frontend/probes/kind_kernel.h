// What the kinds of probe points in the kernel share. Private to frontend/probes.
#pragma once

#include "frontend/probes/kinds.h"

namespace sonde {

// The running kernel's types; null after a report.
KernelTypes* open_kernel(Resolving& resolving);

// kind_kernel_function.cc: kernel.function(...)
std::vector<ResolvedPoint> resolve_kernel_functions(Resolving& resolving);
// False after a report if functions of this kernel cannot be probed. `inside`: at any instruction, which takes kprobes.
bool can_probe_functions(Resolving& resolving, bool inside = false);

// kind_kernel_debug.cc: true for points behind `kernel` that are not to be found without debug information.
bool needs_debug_info(Resolving& resolving);
std::vector<ResolvedPoint> resolve_kernel_debug(Resolving& resolving);

} // namespace sonde
