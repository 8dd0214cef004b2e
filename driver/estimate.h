// --estimate: what will the script cost?
//
// The cost of a probe is its hits per second, times the time of a hit. The hits are sampled: for some seconds, the
// script's probes are attached with empty handlers. A hit's time has three parts:
//
// * the trap. sonde measures the breakpoint of a uprobe on a function of its own, and knows usual values for others.
// * an empty handler, which the sample measures.
// * what the script's handler does: the sum of usual times of its operations (handler_cost.h).
#pragma once

#include <functional>

#include "base/arena.h"
#include "base/result.h"
#include "driver/options.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

using GeneratePlan = std::function<Result<plan::Plan>(const hir::Program& program, const Translate& translate)>;

// Samples, and prints the estimate on standard output. `program` is the script's, and `plan` its plan. Returns the exit
// status.
int estimate(const hir::Program& program, const plan::Plan& plan, const Options& options, const GeneratePlan& generate,
             Arena& arena);

} // namespace sonde
