// Which classes of instructions the running kernel's uprobes execute wrongly, found out by trying.
//
// A child process executes a sample of each class from a known state, first as it is and then with a probe on it, three
// times, and compares registers, flags, vector registers, memory and the stack above the red zone's end, and where it
// went on. What differs, or is hit another number of times, is executed wrongly. The samples lie in a file without a
// name, so that no other process meets the probes.
#pragma once

#include <set>

#include "base/instruction_hazards.h"

namespace sonde {

// Of `wanted`, those that are executed wrongly, are refused by the kernel, or cannot be tried out. Does nothing if none
// is wanted.
std::set<Hazard> try_hazards(const std::set<Hazard>& wanted);

} // namespace sonde
