// Addresses of kernel variables at run time.
#pragma once

#include <cstdint>

#include "frontend/variables/binding.h"

namespace sonde {

// The address of an object that the debug information of the kernel, or of its probed module, has at `linked`.
hir::Expr* kernel_address(Binding& b, DwarfModule& module, Address linked);
// The address of the current CPU's copy of a per-CPU variable. Null without a report if the kernel's symbols are
// unavailable.
hir::Expr* per_cpu_address(Binding& b, uint64_t offset);

} // namespace sonde
