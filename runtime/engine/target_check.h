// Checks that the filter for -c and -x lets the target's hits through. A filter that rejects every process counts
// nothing, which looks the same as a program that does nothing.
#pragma once

#include "base/result.h"

namespace sonde {

class Session;

// Checks the filter before the probes are armed. Returns an error that explains the consequence if the filter would
// reject the target.
Result<void> check_target_filter(Session& session);
// Checks the filter after the command has ended by itself. Returns an error if its exec was not seen, because then no
// handler ran for it.
Result<void> check_target_joined(const Session& session);

} // namespace sonde
