// The layout of a script's globals in memory, and its probes in the plan.
#pragma once

#include "base/source.h"
#include "frontend/hir/hir.h"
#include "frontend/hir/thread_arrays.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {

// The arrays to keep in task storage (runtime/plan/task_arrays.h).
using TaskArrays = std::map<const hir::Global*, ThreadUse>;

// Fills the plan's globals, texts, probes, rows and marks. This determines the size of the data area. `shared`: as for
// analyze_part(), or null.
void lay_out_plan(const hir::Program& program, const Sources& sources, const TaskArrays& in_tasks,
                  const plan::SharedGlobals* shared, plan::Plan& plan);

} // namespace sonde
