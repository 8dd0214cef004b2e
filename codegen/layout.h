// Where a script's globals lie, and its probes as the plan has them.
#pragma once

#include "codegen/codegen.h"

namespace sonde {

// Fills the plan's globals, texts, probes, rows and marks, and so the size of the data area.
void lay_out_plan(const hir::Program& program, const Sources& sources, const CodegenOptions& options, plan::Plan& plan);

} // namespace sonde
