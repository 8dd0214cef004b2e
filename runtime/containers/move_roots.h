// Paths of programs in containers lead through a process there: /proc/42/root/usr/sbin/nginx. A plan that was saved, or
// kept in the cache, is run when that process may have gone, and another one is the container's.
#pragma once

#include <optional>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace sonde {

// The plan with paths through processes that are in its groups now; nothing where it is right as it is. Whether the
// files there are those that it was made for is checked with all others. Errors: a group is not there.
Result<std::optional<plan::Plan>> move_roots(const plan::Plan& plan);

} // namespace sonde
