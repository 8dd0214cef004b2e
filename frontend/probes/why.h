// `sonde --why '$x' POINT`: explains where a variable is stored, and what to do if a probe cannot read it.
#pragma once

#include "base/arena.h"
#include "frontend/probes/probe.h"

namespace sonde {

// Returns the answer as lines of text, for each function that contains one of the points. Reports an error and returns
// nothing if the variable or a member does not exist, or if a point has no variables.
std::vector<std::string> explain_variable(const ast::TargetExpr& expr, const std::vector<ResolvedPoint>& points,
                                          Arena& arena, ProbeEnvironment& env, Diagnostics& diags);

} // namespace sonde
