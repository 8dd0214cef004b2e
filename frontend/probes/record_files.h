// What a plan says of the files whose code or data it probes, so that the session can tell them from other builds.
#pragma once

#include <vector>

#include "base/result.h"
#include "frontend/hir/hir.h"
#include "frontend/probes/probe.h"
#include "runtime/plan.h"

namespace sonde {

// Through the very descriptors that the points were looked up through. Errors: a file cannot be read any more, or has
// become another one since.
Result<std::vector<plan::ProbedFile>> record_files(const hir::Program& program, const ProbeEnvironment& env);

} // namespace sonde
