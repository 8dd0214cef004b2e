// Attaches every probe of a session, and sonde's own programs that follow the target and control groups.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "runtime/attach/attach.h"
#include "runtime/engine/overload.h"
#include "runtime/engine/session_state.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

// Attaches everything, and adds it to `attachments`. `stop` returns whether the user wants to end: attaching thousands
// of places takes a while. Errors: a place that cannot be probed.
Result<void> attach_all(Session& session, Attachments& attachments, ProbedFiles& files, const SoundPlaces& places,
                        const plan::LinkKinds& links, std::function<bool()> stop);

// The processes that were running before the session began: those of the target if there is one. `waiting`: the
// command's process, which is not one of them.
std::vector<int64_t> running_processes(const Session& session, int64_t waiting);

// Detaches the probes that cost too much.
void disarm_costly(Session& session, OverloadGuard& overload, Attachments& attachments);

} // namespace sonde
