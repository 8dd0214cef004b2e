// Timers that ask about the current task, which is sonde itself.
#pragma once

#include <map>

#include "base/diag.h"
#include "frontend/sema/hir.h"

namespace sonde {

// Warns of each; `heads`: where a handler's probe points are written.
void check_own_task(const hir::Program& program, const std::map<const hir::Handler*, Range>& heads, Diagnostics& diags);

} // namespace sonde
