// Checks a plan from a file before the runtime uses it. The runtime relies on these properties without checking them
// again.
#pragma once

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde::plan {

// Returns an error that names the contradiction. Does not check the memory accesses of handlers' code: anyone who can
// write a plan can run code (docs/security.md).
Result<void> check(const Plan& plan);

} // namespace sonde::plan
