// Summaries of parameters of kernel functions, from their prototypes.
#pragma once

#include "frontend/variables/binding.h"

namespace sonde {

// `$$vars` (the same as `$$parms`) and `$$return`; for a tracepoint also `$$name` and `$$system`.
hir::Expr* prototype_summary(Binding& b);

} // namespace sonde
