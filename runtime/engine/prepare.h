// Checks that this machine may run a plan, loads the plan's code for the kernel and for this process, and fills the
// data area.
#pragma once

#include "base/result.h"
#include "runtime/engine/session_state.h"
#include "runtime/load/shared_maps.h"

namespace sonde {

// Returns an error if the kernel, or the rights of this process, do not allow the plan's changes or the identification
// of processes.
Result<void> check_allowed(const plan::Plan& plan);

// Fills `session.data`, `session.host_object` and the data area. Errors: as KernelObject::load and HostObject::load; an
// address of the kernel that is not known.
// `shared`: the maps of shared globals; null: the plan is not a part of an interactive session.
Result<void> prepare(Session& session, const plan::LinkKinds& links, const SharedMaps* shared);

} // namespace sonde
