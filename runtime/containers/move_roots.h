// Updates paths in a plan that lead to files in containers.
//
// The problem: such a path leads through a process of the container, for example /proc/42/root/usr/sbin/nginx. A saved
// or cached plan can run when process 42 has ended, and the container has other processes.
#pragma once

#include <optional>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Returns a plan whose paths lead through current processes of its groups. Returns nothing if the paths are still
// right. Does not check the files themselves: ProbedFiles does that. Returns an error if a group does not exist.
Result<std::optional<plan::Plan>> move_roots(const plan::Plan& plan);

} // namespace sonde
