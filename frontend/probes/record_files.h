// Records the identity of the files whose code or data a plan probes, so that the session can detect other builds of
// them.
#pragma once

#include <vector>

#include "base/result.h"
#include "frontend/hir/hir.h"
#include "frontend/probes/probe.h"
#include "runtime/plan/probed_files.h"

namespace sonde {

// Reads through the same file descriptors through which the points were found, so a file that is replaced meanwhile
// causes no inconsistency. Fails if a file cannot be read or has changed.
Result<std::vector<plan::ProbedFile>> record_files(const hir::Program& program, const ProbeEnvironment& env);

} // namespace sonde
