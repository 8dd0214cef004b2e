// The layout of a script's globals in memory, and its probes in the plan.
#pragma once

#include "base/source.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {

// Fills the plan's globals, texts, probes, rows and marks. This determines the size of the data area. `shared`: as for
// analyze_part(), or null.
void lay_out_plan(const hir::Program& program, const Sources& sources, const plan::SharedGlobals* shared,
                  plan::Plan& plan);

} // namespace sonde
