// What the prototype of a function of the kernel says of its parameters.
#pragma once

#include "frontend/variables/binding.h"

namespace sonde {

// `$$vars`, which is `$$parms`, and `$$return`; `$$name` and `$$system` of a tracepoint.
hir::Expr* prototype_summary(Binding& b);

} // namespace sonde
