// Looks for missing breakpoints at the end of a session, when they are still armed.
#pragma once

#include "runtime/attach/attach.h"
#include "runtime/engine/session_state.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

// Warns about processes whose hits are incomplete: breakpoints are missing in their memory, or the kernel does not set
// breakpoints in their mapping. Also warns if a debugger may have set breakpoints of its own at probed instructions.
// Looks at the target, or at all processes, for a limited time.
void warn_of_lost_breakpoints(Session& session, const ProbedFiles& files, const Attachments& attachments);

} // namespace sonde
