// `sonde --why '$x' POINT`: where a variable lives, and what to do where a probe cannot have it.
#pragma once

#include "base/arena.h"
#include "frontend/probes/probe.h"

namespace sonde {

// The answer as lines of text, for each function that the points are in. Errors go to diags: the variable or a member
// of it does not exist (nearest names), a point has no variables; the answer is empty then.
std::vector<std::string> explain_variable(const ast::TargetExpr& expr, const std::vector<ResolvedPoint>& points,
                                          Arena& arena, ProbeEnvironment& env, Diagnostics& diags);

} // namespace sonde
