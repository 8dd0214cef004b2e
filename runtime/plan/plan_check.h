// What the runtime relies on without looking again, checked before a plan that comes from a file is used.
#pragma once

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde::plan {

// Errors say which part contradicts which. What handlers' code does with its memory is not checked: whoever can write a
// plan can run code (docs/security.md).
Result<void> check(const Plan& plan);

} // namespace sonde::plan
