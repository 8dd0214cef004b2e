// What the kinds of probe points in the kernel share. Private to frontend/probes.
#pragma once

#include "frontend/probes/kinds.h"

namespace sonde {

// The running kernel's types; null after a report.
KernelTypes* open_kernel(Resolving& resolving);

// kind_data.cc: kernel.data(...) and, behind a program, process.data(...)
std::vector<ResolvedPoint> resolve_kernel_data(Resolving& resolving);
// kind_lsm.cc: kernel.lsm("hook")
std::vector<ResolvedPoint> resolve_kernel_lsm(Resolving& resolving);
// kind_kernel.cc: module("m").tracepoint("n")
std::vector<ResolvedPoint> resolve_module_tracepoints(Resolving& resolving);

// kind_kernel_function.cc: kernel.function(...)
std::vector<ResolvedPoint> resolve_kernel_functions(Resolving& resolving);
// kernel.statement(...), where component `at` is that
std::vector<ResolvedPoint> resolve_kernel_address(Resolving& resolving, size_t at);

// kind_kernel_debug.cc: true for points behind `kernel` or `module("m")` that are not to be found without debug
// information.
bool needs_debug_info(Resolving& resolving);
std::vector<ResolvedPoint> resolve_kernel_debug(Resolving& resolving);
std::vector<ResolvedPoint> resolve_module_debug(Resolving& resolving);

} // namespace sonde
