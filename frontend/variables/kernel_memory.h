// Where the kernel's variables are when the session runs.
#pragma once

#include <cstdint>

#include "frontend/variables/binding.h"

namespace sonde {

// Of what the debug information of the kernel, or of its module that is probed, has at `linked`.
hir::Expr* kernel_address(Binding& b, DwarfModule& module, Address linked);
// Of the current CPU's copy of a variable that every CPU has. Null without a report where there are no symbols.
hir::Expr* per_cpu_address(Binding& b, uint64_t offset);

} // namespace sonde
