// Whether the filter for the target sees the target: before probes are armed, and when the command has ended. A session
// whose filter lets nobody in counts nothing, and would look like one whose program did nothing.
#pragma once

#include "base/result.h"

namespace sonde {

class Session;

// Runs what follows the command's exec in this process, as if it were the command: it must find the number that the
// session knows itself by. Errors: it does not, and what that means.
Result<void> check_target_filter(Session& session);
// After the command has ended by itself. Errors: its exec was not seen, so no handler ran for it.
Result<void> check_target_joined(const Session& session);

} // namespace sonde
