// Tests which classes of instructions the running kernel's uprobes execute incorrectly.
//
// A child process executes samples of each class with and without a probe, and the results are compared. So the answer
// does not depend on the kernel's version. instruction_trial.cc explains the steps.
#pragma once

#include <set>

#include "arch/instruction_hazards.h"

namespace sonde {

// Returns the classes in `wanted` that a probe would break: the results differ, the kernel refuses the probe, or the
// test cannot run. Forks a child process and waits for its end, 15 seconds at most. Does nothing if `wanted` is empty.
std::set<Hazard> try_hazards(const std::set<Hazard>& wanted);

} // namespace sonde
