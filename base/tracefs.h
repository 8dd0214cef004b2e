// The files of tracefs, which alone tells the subsystems of tracepoints and which functions can be traced.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Opens a file of tracefs by its path in there ("available_events"): where it is mounted, else through a mount that is
// attached to nothing, so that the machine stays as it is (fsmount(2), Linux 5.2; CAP_SYS_ADMIN). Errors: open(2)'s; it
// is not mounted and cannot be.
Result<Fd> open_tracefs(const std::string& path, int flags);

// All of such a file. Errors as above.
Result<std::string> read_tracefs(const std::string& path);

} // namespace sonde
