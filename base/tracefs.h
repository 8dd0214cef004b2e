// Reads files of tracefs and debugfs, whether or not they are mounted. Only tracefs lists the subsystems and numbers of
// tracepoints, and the functions that can be traced; debugfs shows the preemption model.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Opens a file by its path in tracefs ("available_events"). If tracefs is not mounted, uses a detached mount, which
// does not change the system (fsmount(2), Linux 5.2; requires CAP_SYS_ADMIN). Errors: as open(2), or tracefs cannot be
// mounted.
Result<Fd> open_tracefs(const std::string& path, int flags);

// Reads such a file. Errors: as above.
Result<std::string> read_tracefs(const std::string& path);
// The same of debugfs.
Result<std::string> read_debugfs(const std::string& path);

} // namespace sonde
